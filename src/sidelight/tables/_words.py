"""Texts as numbers by the words in them: TF-IDF, then a truncated singular value decomposition."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import DataError

Floats = NDArray[np.float64]

# Words and pairs of words, each text counted by the logarithm: the usual reading of short texts.
_READING = {"ngram_range": (1, 2), "sublinear_tf": True, "strip_accents": "unicode"}
_MAX_TERMS = 10_000
# The number that scikit-learn advises for latent semantic analysis.
_MAX_COLUMNS = 100
_FEW_ROWS = 100  # below, a word may matter that stands in one text only


@dataclass(frozen=True, eq=False)
class WordVectors:
    """How a column of texts becomes columns of numbers: fitted to one table, plain data.

    Parameters
    ----------
    terms : tuple of str
        The words and pairs of words that count.
    idf : ndarray of shape (n_terms,)
        How rare each one is.
    components : ndarray of shape (n_columns, n_terms)
        The directions that texts are described by.

    Examples
    --------
    >>> texts = ["my card is lost", "I lost my card", "what is the rate", "rate of exchange"]
    >>> found = WordVectors.fitted(texts)
    >>> X = found.vectors(["the card I lost", "exchange rate"])
    >>> X.shape, (X**2).sum(axis=1).round(6).tolist()
    ((2, 3), [1.0, 1.0])
    """

    terms: tuple[str, ...]
    idf: Floats
    components: Floats

    @classmethod
    def fitted(cls, texts: Sequence[str | None]) -> "WordVectors":
        """Learn which words matter from the texts of a table."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        from sidelight.blocks import one_blas_thread

        counted = TfidfVectorizer(
            **_READING, max_features=_MAX_TERMS, min_df=1 if len(texts) < _FEW_ROWS else 2
        )
        try:
            weights = counted.fit_transform([text or "" for text in texts])
        except ValueError:  # no word at all, or none that is left
            raise DataError(
                "the texts have no words in common to tell them apart by; leave the column out "
                "(drop=)."
            ) from None
        terms = tuple(map(str, counted.get_feature_names_out()))
        n_columns = min(_MAX_COLUMNS, len(terms) - 1, len(texts) - 1)
        if n_columns < 1:
            raise DataError("the texts have one word between them; leave the column out (drop=).")
        with one_blas_thread():
            found = TruncatedSVD(n_columns, random_state=0).fit(weights)
        # Single precision keeps a saved model small, with no visible change of angles.
        components = found.components_.astype(np.float32).astype(np.float64)
        return cls(terms, np.asarray(counted.idf_), components)

    @property
    def n_columns(self) -> int:
        """How many columns a text becomes."""
        return len(self.components)

    @property
    def in_words(self) -> str:
        """A sentence for the notes."""
        return (
            f"{len(self.terms):,} words and pairs of words (TF-IDF), as {self.n_columns} "
            "directions (truncated SVD) of unit length"
        )

    def vectors(self, texts: Sequence[str | None]) -> Floats:
        """The columns of some texts: rows of length 1, or 0 where no word is known."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        known = TfidfVectorizer(**_READING, vocabulary=self.terms)
        known.idf_ = self.idf
        weights = known.transform([text or "" for text in texts])
        return unit_rows(weights @ self.components.T)

    def to_dict(self) -> dict[str, Any]:
        """As texts, numbers and lists, the directions as base64 of 32-bit numbers."""
        packed = base64.b64encode(self.components.astype("<f4").tobytes()).decode("ascii")
        return {
            "way": "tf-idf",
            "terms": list(self.terms),
            "idf": self.idf.tolist(),
            "components": packed,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "WordVectors":
        """What `to_dict` wrote; a KeyError, TypeError or ValueError if it did not."""
        terms = tuple(map(str, plain["terms"]))
        idf = np.array([float(value) for value in plain["idf"]])
        try:
            packed = base64.b64decode(plain["components"], validate=True)
        except binascii.Error as error:
            raise ValueError(str(error)) from None
        components = np.frombuffer(packed, dtype="<f4").astype(np.float64)
        if len(idf) != len(terms) or len(set(terms)) < len(terms):
            raise ValueError("terms and idf do not fit together")
        return cls(terms, idf, components.reshape(-1, len(terms)))


def unit_rows(X: Floats) -> Floats:
    """Rows of length 1; rows of zeros stay."""
    length = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return X / np.where(length > 0, length, 1.0)
