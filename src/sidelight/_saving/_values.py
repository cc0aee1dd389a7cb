"""Values as JSON and arrays, and back: plain data, arrays, and our own data classes."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from sidelight.exceptions import SidelightError
from sidelight.models import SideClusterer, StatementMetric, find_model, model_names
from sidelight.results import Membership
from sidelight.side import KINDS, SideInformation

# Where classes that are data may live; no others are looked up.
_HOMES = ("sidelight.models.", "sidelight.side.", "sidelight.results", "sidelight.tree")
_SPARSE = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
# Attributes of a process, not of a fit.
_LEFT_OUT = ("_skl_callback", "_callback_fit", "_sklearn_version")


class Writer:
    """Turns values into JSON, and collects the arrays that it points to."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[int, int] = {}
        self._kept_alive: list[Any] = []  # else a number could stand for two arrays

    def value(self, thing: Any, place: str) -> Any:
        """One value; ``place`` names it in errors."""
        if thing is None or type(thing) in (bool, int, str):
            return thing
        if type(thing) is float:
            return thing if math.isfinite(thing) else {"float": repr(thing)}
        if isinstance(thing, np.generic):
            return {"scalar": self._array(np.asarray(thing))}
        if isinstance(thing, np.ndarray):
            return self._any_array(thing, place)
        if sparse.issparse(thing):
            return self._sparse(thing, place)
        if isinstance(thing, Membership):
            bare = getattr(thing.probabilities, "__self__", None)
            return {"membership": thing.key, "of": self.value(bare, f"{place}.model")}
        if isinstance(thing, tuple) and hasattr(thing, "_fields"):
            named = dict(zip(thing._fields, thing, strict=True))
            return self._instance(thing, named, place)
        if type(thing) in (list, tuple):
            values = [self.value(each, f"{place}[{k}]") for k, each in enumerate(thing)]
            return values if type(thing) is list else {"tuple": values}
        if type(thing) is dict:
            pairs = [[self.value(key, place), self.value(v, f"{place}[{key!r}]")]
                     for key, v in thing.items()]  # fmt: skip
            return {"dict": pairs}
        if isinstance(thing, (SideClusterer, StatementMetric)):
            return self._model(thing, place)
        if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
            fields = {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing)}
            return self._instance(thing, fields, place)
        raise _unsaved(place, thing)

    def _model(self, model: Any, place: str) -> dict[str, Any]:
        name = type(model).__name__
        known = name in model_names() or name == StatementMetric.__name__
        if not known or type(model) is not _model_class(name):
            raise _unsaved(place, model)
        state = {k: v for k, v in model.__getstate__().items() if not k.startswith(_LEFT_OUT)}
        return {"model": name, "state": self._fields(state, name if place == "model" else place)}

    def _instance(self, thing: Any, fields: Mapping[str, Any], place: str) -> dict[str, Any]:
        kind = type(thing)
        name = f"{kind.__module__}:{kind.__qualname__}"
        try:
            known = _data_class(name) is kind
        except SidelightError:
            known = False
        if not known:
            raise _unsaved(place, thing)
        return {"class": name, "fields": self._fields(fields, place)}

    def _fields(self, fields: Mapping[str, Any], place: str) -> dict[str, Any]:
        return {name: self.value(value, f"{place}.{name}") for name, value in fields.items()}

    def _any_array(self, array: NDArray[Any], place: str) -> dict[str, Any]:
        if array.dtype.kind not in "biufcUSO" or array.dtype.names:
            raise _unsaved(place, array, f"an array of {array.dtype}")
        frozen = {} if array.flags.writeable else {"frozen": True}
        if array.dtype.kind == "O":
            values = [self.value(each, place) for each in array.ravel().tolist()]
            return {"objects": values, "shape": list(array.shape), **frozen}
        return {"array": self._array(array), **frozen}

    def _array(self, array: NDArray[Any]) -> int:
        """The number of an array; one that is met twice is kept once."""
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self._kept_alive.append(array)
            self.arrays.append(np.asarray(array))
        return self._numbers[id(array)]

    def _sparse(self, matrix: Any, place: str) -> dict[str, Any]:
        kind = type(matrix).__name__
        if _SPARSE.get(kind) is not type(matrix):
            raise _unsaved(place, matrix)
        parts = {name: self._array(getattr(matrix, name)) for name in ("data", "indices", "indptr")}
        return {"sparse": kind, "shape": list(map(int, matrix.shape)), **parts}


class Reader:
    """Turns JSON and arrays into values; what a `Writer` does not write is a ValueError."""

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        self.arrays = arrays

    def value(self, node: Any) -> Any:
        """One value."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            return [self.value(each) for each in node]
        for mark, read in self._WAYS.items():
            if mark in node:
                return read(self, node)
        raise ValueError(f"unknown kind of value {sorted(node)}")

    def _float(self, node: Any) -> float:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[node["float"]]

    def _array(self, node: Any) -> NDArray[Any]:
        array = self._numbered(node["array"])
        return _frozen(array) if node.get("frozen") else array

    def _numbered(self, number: Any) -> NDArray[Any]:
        if type(number) is not int or not 0 <= number < len(self.arrays):
            raise ValueError(f"there is no array {number!r}")
        return self.arrays[number]

    def _scalar(self, node: Any) -> Any:
        return self._numbered(node["scalar"])[()]

    def _objects(self, node: Any) -> NDArray[Any]:
        array = np.empty(len(node["objects"]), dtype=object)
        array[:] = [self.value(each) for each in node["objects"]]
        array = array.reshape([int(size) for size in node["shape"]])
        return _frozen(array) if node.get("frozen") else array

    def _sparse(self, node: Any) -> Any:
        data, indices, indptr = (self._numbered(node[k]) for k in ("data", "indices", "indptr"))
        shape = tuple(int(size) for size in node["shape"])
        matrix = _SPARSE[node["sparse"]]((data, indices, indptr), shape=shape)
        matrix.check_format(full_check=True)  # compiled code does not check indices
        return matrix

    def _tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple(self.value(each) for each in node["tuple"])

    def _dict(self, node: Any) -> dict[Any, Any]:
        return {self.value(key): self.value(value) for key, value in node["dict"]}

    def _membership(self, node: Any) -> Membership:
        model = self._state(node["of"])  # without what is as long as the data, also parameters
        if not hasattr(model, "predict_proba"):
            raise ValueError("a membership without a model")
        key = node["membership"]
        return Membership(model.predict_proba, None if key is None else str(key))

    def _model(self, node: Any) -> BaseEstimator:
        model = self._state(node)
        missing = [name for name in model._get_param_names() if name not in vars(model)]
        if missing:
            raise ValueError(f"{node['model']} without its parameter {missing[0]!r}")
        return model

    def _state(self, node: Any) -> Any:
        model = object.__new__(_model_class(str(node["model"])))
        model.__dict__ = {str(name): self.value(v) for name, v in node["state"].items()}
        return model

    def _instance(self, node: Any) -> Any:
        kind: Any = _data_class(str(node["class"]))
        fields = {str(name): self.value(v) for name, v in node["fields"].items()}
        named = issubclass(kind, tuple)
        names = kind._fields if named else [f.name for f in dataclasses.fields(kind)]
        if set(fields) != set(names):
            raise ValueError(f"{kind.__name__} with the fields {sorted(fields)}")
        if named:
            return kind._make(fields[name] for name in names)
        found = object.__new__(kind)
        for name, value in fields.items():
            object.__setattr__(found, name, value)
        if isinstance(found, SideInformation):
            _check_side(found)
        return found

    _WAYS = {  # noqa: RUF012
        "float": _float,
        "array": _array,
        "scalar": _scalar,
        "objects": _objects,
        "sparse": _sparse,
        "tuple": _tuple,
        "dict": _dict,
        "membership": _membership,
        "model": _model,
        "class": _instance,
    }


def _model_class(name: str) -> Any:
    """A model by the registry's name, or the map that goes before models."""
    if name == StatementMetric.__name__:
        return StatementMetric
    return find_model(name) if name in model_names() else _unknown(name)


def _data_class(name: str) -> type:
    """One of our data classes: a named tuple or a dataclass from an allowed module."""
    module, _, word = name.partition(":")
    if not module.startswith(_HOMES) or not word.isidentifier():
        _unknown(name)
    kind: Any
    try:
        kind = getattr(import_module(module), word, None)
    except ImportError:
        kind = None
    if not isinstance(kind, type) or kind.__module__ != module:
        _unknown(name)
    is_data = dataclasses.is_dataclass(kind) or (
        issubclass(kind, tuple) and hasattr(kind, "_fields")
    )
    if not is_data or kind is Membership:
        _unknown(name)
    return kind


def _unknown(name: str) -> Any:
    raise SidelightError(f"{name!r} is not a model of sidelight, nor a part of one.")


def _check_side(side: SideInformation) -> None:
    """Refuse codes that point beside the rows and names."""
    said = side.statements
    limits = {
        "i": (0, side.n_samples),
        "j": (-1, side.n_samples),
        "class_code": (-1, len(side.classes)),
        "annotator": (-1, len(side.annotators)),
        "vocabulary": (-1, len(side.vocabularies)),
        "kind": (0, len(KINDS)),
    }
    for name, (low, high) in limits.items():
        codes = getattr(said, name)
        if codes.shape != said.i.shape or (
            len(codes) and not low <= codes.min() <= codes.max() < high
        ):
            raise ValueError(f"statements whose {name} is out of range")


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _unsaved(place: str, thing: Any, what: str = "") -> SidelightError:
    kind = type(thing)
    told = what or f"a {kind.__module__}.{kind.__qualname__}"
    return SidelightError(
        f"{place} is {told}, which cannot be saved: a file holds numbers, texts, arrays and "
        "sidelight's own models. Fit with a parameter of these kinds (a random_state that is a "
        "number, an init that is an array)."
    )
