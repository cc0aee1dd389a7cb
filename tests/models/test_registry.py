"""The registry: a name gives a class, and tags are true. `check_tags` holds models to theirs."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sidelight
from sidelight.exceptions import DataError, SidelightError
from sidelight.models import (
    PartitionLevelKMeans,
    SideClusterer,
    Tags,
    _registry,
    find_model,
    model_names,
    model_tags,
)
from small_models import with_clusters


def test_every_model_is_a_name_of_both_packages():
    for name in model_names():
        model = find_model(name)
        assert issubclass(model, SideClusterer)
        assert model.__name__ == name
        assert getattr(sidelight, name) is getattr(sidelight.models, name) is model
        assert name in sidelight.__all__
        assert name in sidelight.models.__all__
    with pytest.raises(AttributeError, match="no attribute 'KMeans'"):
        _ = sidelight.models.KMeans


def test_every_model_in_the_families_is_registered():
    for folder in Path(sidelight.__file__).parent.glob("models/_*/"):
        for path in folder.glob("[a-z]*.py"):
            __import__(f"sidelight.models.{folder.name}.{path.stem}")
    found = {cls for cls in _all_subclasses(SideClusterer) if cls.__module__.startswith("sideli")}
    abstract = {cls.__name__ for cls in found if not hasattr(cls, "scales")}  # a base
    assert {cls.__name__ for cls in found} - abstract == set(model_names())


def _all_subclasses(cls):
    return {below for child in cls.__subclasses__() for below in (child, *_all_subclasses(child))}


def test_homes_are_in_the_order_of_names():
    assert list(_registry.HOMES) == sorted(_registry.HOMES)
    assert all(home.startswith("_") for home in _registry.HOMES.values())


def test_asking_for_one_model_imports_its_family_alone():
    code = (
        "import sys; from sidelight import PartitionLevelKMeans; "
        "print({m.split('.')[2] for m in sys.modules if m.startswith('sidelight.models._')})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    families = {path.parent.name for path in Path(sidelight.models.__file__).parent.glob("_*/*.py")}
    assert ast.literal_eval(run.stdout) & families == {"_kmeans"}


@pytest.mark.parametrize("name", ["partition-level-kmeans", "partition_level_kmeans"])
def test_spelling_of_a_name_does_not_matter(name):
    assert find_model(name) is PartitionLevelKMeans


def test_unknown_names_and_tags_are_told():
    with pytest.raises(SidelightError, match=r"unknown model 'BayesianMix'.*mean BayesianMixture"):
        find_model("BayesianMix")
    with pytest.raises(SidelightError, match=r"unknown tag 'fast'; known: accepts, "):
        model_names(fast=True)
    with pytest.raises(SidelightError, match="int has no tag 'accepts'"):
        model_tags(3)


def test_models_are_found_by_their_tags():
    for tag in ("finds_k", "finds_errors", "gives_probabilities", "takes_sparse", "on_dask"):
        chosen = model_names(**{tag: True})
        assert chosen == [name for name in model_names() if getattr(model_tags(name), tag)]
        assert sorted(chosen + model_names(**{tag: False})) == model_names()
    assert model_names(accepts=["must", "label"]) == model_names(accepts="must")
    assert "PartitionLevelKMeans" not in model_names(accepts="must")
    assert model_names(objective_sense="max", takes_similarities=False) == [
        "AnnotatedGaussianMixture",
        "BayesianMixture",
        "EquivalenceGaussianMixture",
        "PartialLabelGaussianMixture",
        "SemiMultiCons",
    ]
    assert "MarkovAggregation" in model_names(takes_similarities=True)


@pytest.mark.parametrize("name", model_names())
def test_every_tag_is_declared(name):
    tags = model_tags(name)
    assert tags == model_tags(find_model(name)) == model_tags(find_model(name)())
    assert tags.weight_unit
    for tag, kind in Tags.__annotations__.items():
        if kind is bool:
            assert isinstance(getattr(tags, tag), bool)


@pytest.mark.parametrize("name", model_names())
def test_the_tag_says_whether_rows_may_be_on_dask(name):
    array = pytest.importorskip("dask.array")
    X = np.concatenate([np.zeros((20, 2)), np.full((20, 2), 5.0)])
    X += np.random.default_rng(0).normal(size=X.shape)
    model = with_clusters(name, 2)
    lazy = array.from_array(X, chunks=(10, 2))
    if model_tags(name).on_dask:
        assert len(np.asarray(model.fit(lazy).labels_)) == 40
    else:
        with pytest.raises(DataError, match="does not take Dask"):
            model.fit(lazy)
