"""AnnData: results as scanpy's users expect them, and statements that stay with their cells."""

import anndata
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from numpy.testing import assert_array_equal
from scipy import sparse

from sidelight import (
    DiscriminativeClustering,
    MarkovAggregation,
    PartitionLevelKMeans,
    SideInformation,
    StructuralEntropyClustering,
    StructuralEntropyTree,
    bio,
)
from sidelight.exceptions import DataError, LostClassWarning, SideInformationError, SidelightError
from sidelight.graph import neighbor_graph
from sidelight.models import model_names

TYPES = np.repeat(["B cell", "T cell", "NK"], 50)


@pytest.fixture
def cells():
    """150 cells of three types, of which two are known for some cells."""
    rng = np.random.default_rng(0)
    centers = np.repeat([[0.0, 0.0], [5.0, 1.0], [9.0, 5.0]], 50, axis=0)
    adata = AnnData(sparse.csr_matrix(rng.poisson(1.0, size=(150, 6)).astype(np.float32)))
    adata.obs_names = [f"cell-{k}" for k in range(150)]
    adata.obsm["X_pca"] = (centers + rng.normal(scale=0.3, size=(150, 2))).astype(np.float32)
    known = np.where((np.arange(150) % 10 == 0) & (TYPES != "NK"), TYPES, None)
    adata.obs["known"] = pd.Categorical(known)
    return adata


@pytest.fixture
def said(cells):
    """Statements of every kind, with weights, annotators, vocabularies and odd classes."""
    return SideInformation.from_columns(
        ["must", "cannot", "unsure", "label", "label", "label", "not_label", "must"],
        [f"cell-{k}" for k in (0, 0, 1, 2, 3, 4, 5, 148)],
        ["cell-1", "cell-60", "cell-70", None, None, None, None, "cell-149"],
        class_=[None, None, None, 3, "3", "T cell, CD4", "NK", None],
        weight=[1.0, 0.5, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0],
        annotator=["ann", None, "bob", "bob", "ann", None, "ann", None],
        vocabulary=[None, None, None, "atlas", None, None, None, None],
        index=cells.obs_names,
    )


def test_a_known_type_without_a_cluster_is_told_and_noted(cells, tmp_path):
    known = cells.obs["known"].astype(object)
    known.iloc[1] = "CD4+/CD45RA+/CD25- Naive T"
    cells.obs["known"] = known
    model = PartitionLevelKMeans(2, random_state=0)
    with pytest.warns(LostClassWarning, match=r"'CD4\+/CD45RA\+/CD25- Naive T' has no cluster: "):
        bio.cluster(cells, model, labels_key="known")
    assert cells.uns["sidelight"]["lost_classes"].tolist() == ["CD4+/CD45RA+/CD25- Naive T"]
    cells.obs["known"] = pd.Categorical(known)  # as h5ad wants it
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["sidelight"]
    assert list(again["lost_classes"]) == ["CD4+/CD45RA+/CD25- Naive T"]
    bio.cluster(cells, PartitionLevelKMeans(3, random_state=0), labels_key="known")
    assert "lost_classes" not in cells.uns["sidelight"]


def test_clusters_become_a_categorical_column_that_keeps_the_names(cells):
    model = bio.cluster(cells, labels_key="known")
    column = cells.obs["sidelight"]
    assert column.dtype == pd.CategoricalDtype(["B cell", "T cell", "new 1"])
    assert_array_equal(column.astype(str).replace("new 1", "NK"), TYPES)
    assert_array_equal(column.cat.codes, model.labels_)
    assert isinstance(model, DiscriminativeClustering)


def test_parameters_are_left_in_uns_and_survive_a_file(cells, tmp_path):
    model = PartitionLevelKMeans(3, random_state=1)
    assert bio.cluster(cells, model, labels_key="known", key_added="mine") is model
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    params = again.uns["mine"]["params"]
    told = {"model": "PartitionLevelKMeans", "use_rep": "X_pca", "labels_key": "known"}
    assert {name: params[name] for name in told} == told
    assert params["n_clusters"] == 3
    assert params["side_weight"] == 10.0
    assert params["random_state"] == 1
    assert "pairs_key" not in params
    assert again.uns["mine"]["seed"] == model.result_.provenance["seed"]
    assert again.uns["mine"]["n_statements"] == 10
    assert_array_equal(again.obs["mine"], cells.obs["mine"])


def test_cluster_equals_the_model_on_the_representation(cells):
    y = cells.obs["known"].astype(object).where(cells.obs["known"].notna(), None)
    for use_rep, X in (("X_pca", cells.obsm["X_pca"]), ("X", cells.X)):
        model = PartitionLevelKMeans(3, random_state=0)
        bio.cluster(cells, model, labels_key="known", use_rep=use_rep)
        direct = PartitionLevelKMeans(3, random_state=0).fit(X, y.to_numpy())
        assert_array_equal(cells.obs["sidelight"].cat.codes, direct.labels_)


def test_representations_come_in_all_forms(cells):
    dense = cells.obsm["X_pca"]
    cells.obsm["frame"] = pd.DataFrame(dense, index=cells.obs_names, columns=["a", "b"])
    cells.obsm["sparse"] = sparse.csr_matrix(dense)
    found = {}
    for key in ("X_pca", "frame", "sparse"):
        model = PartitionLevelKMeans(3, random_state=0)
        found[key] = bio.cluster(cells, model, use_rep=key).labels_
    assert_array_equal(found["frame"], found["X_pca"])
    assert_array_equal(found["sparse"], found["X_pca"])
    with pytest.raises(DataError, match="adata.X is None"):
        bio.cluster(AnnData(obs=cells.obs), use_rep="X")


def test_numbers_are_labels_too(cells):
    cells.obs["number"] = np.where(np.arange(150) % 10 == 0, np.arange(150) // 50, -1)
    bio.cluster(cells, "PartitionLevelKMeans", labels_key="number")
    assert cells.obs["sidelight"].cat.categories.tolist() == ["0", "1", "2"]
    assert_array_equal(cells.obs["sidelight"].cat.codes, np.arange(150) // 50)


def test_a_model_by_name_gives_the_same_answer_every_time(cells):
    first = bio.cluster(cells, "PartitionLevelKMeans", labels_key="known")
    assert first.random_state == 0


def test_statements_survive_a_file_exactly(cells, said, tmp_path):
    bio.add_statements(cells, said)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert bio.get_statements(again) == bio.get_statements(cells) == said


def test_statements_follow_cells_that_are_left_out_or_reordered(cells, said, tmp_path):
    bio.add_statements(cells, said)
    rows = np.random.default_rng(1).permutation(100)
    part = cells[rows].copy()
    assert bio.get_statements(part) == said[rows]
    part.write_h5ad(tmp_path / "part.h5ad")
    assert bio.get_statements(anndata.read_h5ad(tmp_path / "part.h5ad")) == said[rows]
    # What is said later is added; what was said of absent cells is not forgotten.
    more = SideInformation.from_pairs(must=[(0, 1)], n_samples=100)
    bio.add_statements(part, more)
    assert len(part.uns["statements"]) == said.n_statements + 1
    assert bio.get_statements(part) == said[rows] + more
    cells.uns["statements"] = part.uns["statements"]
    assert bio.get_statements(cells) == said + SideInformation.from_pairs(
        must=[rows[:2]], n_samples=150
    )


def test_statements_reach_the_model_and_are_named_by_cell(cells):
    wrong = SideInformation.from_pairs(must=[("cell-0", "cell-140")], index=cells.obs_names)
    bio.add_statements(cells, wrong, pairs_key="said")
    model = bio.cluster(cells, pairs_key="said", labels_key="known")
    assert model.result_.broken() == ["cell-0 with cell-140 (must)"]
    assert cells.uns["sidelight"]["n_broken"] == 1
    held = bio.cluster(cells, MarkovAggregation(2, random_state=0), pairs_key="said")
    assert held.result_.broken() == []
    assert held.labels_[0] == held.labels_[140]


def test_a_table_written_by_hand_needs_no_more_than_pairs(cells):
    cells.uns["mine"] = pd.DataFrame({"kind": ["must"], "i": ["cell-3"], "j": ["cell-9"]})
    assert_array_equal(bio.get_statements(cells, pairs_key="mine").must, [[3, 9]])
    cells.uns["types"] = pd.DataFrame(
        {"kind": "label", "i": ["cell-3", "cell-4"], "class": [7, 8], "annotator": ["ann", np.nan]}
    )
    side = bio.get_statements(cells, pairs_key="types")
    assert side.classes == (7, 8)
    assert_array_equal(side.statements.annotator, [0, -1])


def test_a_view_becomes_an_object_of_its_own(cells):
    view = cells[:100]
    with pytest.warns(anndata.ImplicitModificationWarning):
        bio.cluster(view, labels_key="known")
    assert "sidelight" in view.obs
    assert "sidelight" not in cells.obs


def test_cells_on_disk_are_clustered_by_what_is_in_memory(cells, tmp_path):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    bio.cluster(backed, labels_key="known")
    assert_array_equal(backed.obs["sidelight"].astype(str).replace("new 1", "NK"), TYPES)
    with pytest.raises(DataError, match="to_memory"):
        bio.cluster(backed, labels_key="known", use_rep="X")
    backed.file.close()


# Neighbours


@pytest.fixture
def joined(cells):
    """The same cells with a neighbour graph where scanpy would leave it."""
    graph = neighbor_graph(cells.obsm["X_pca"].astype(float), 10)
    cells.obsp["connectivities"] = sparse.csr_matrix(graph)
    cells.uns["neighbors"] = {"connectivities_key": "connectivities", "params": {}}
    del cells.obsm["X_pca"]
    return cells


@pytest.mark.parametrize("key", ["neighbors", "connectivities"])
@pytest.mark.parametrize(
    "model",
    [
        StructuralEntropyClustering(3, random_state=0),
        StructuralEntropyTree(3, random_state=0),
        MarkovAggregation(3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_neighbours_that_are_there_are_used_when_asked(joined, model, key):
    bio.cluster(joined, model, labels_key="known", neighbors_key=key)
    assert_array_equal(joined.obs["sidelight"].astype(str).replace("new 1", "NK"), TYPES)
    params = joined.uns["sidelight"]["params"]
    assert params["neighbors_key"] == key
    assert "use_rep" not in params


def test_a_chain_that_is_a_graph_already_is_left_as_it_is(joined):
    model = MarkovAggregation(3, chain="transition", random_state=0)
    bio.cluster(joined, model, neighbors_key="neighbors")
    assert model.chain == "transition"


def test_models_of_rows_refuse_neighbours_and_name_those_that_take_them(joined):
    able = ", ".join(model_names(takes_similarities=True))
    with pytest.raises(DataError, match=f"or take one of {able}."):
        bio.cluster(joined, neighbors_key="neighbors")


# Bad input


def test_unknown_keys_are_answered_with_those_that_are_there(cells, said):
    cells.obsm["X_umap"] = cells.obsm.pop("X_pca")
    with pytest.raises(DataError, match=r"scanpy.pp.pca\(adata\).*'X_umap'"):
        bio.cluster(cells)
    with pytest.raises(DataError, match="no column 'type'; its columns are 'known'"):
        bio.cluster(cells, labels_key="type")
    with pytest.raises(DataError, match=r"no neighbours 'neighbors'.*scanpy.pp.neighbors"):
        bio.cluster(cells, StructuralEntropyClustering(), neighbors_key="neighbors")
    cells.uns["log"] = ["a"]
    with pytest.raises(DataError, match=r"add_statements.*The keys of uns are 'log'"):
        bio.get_statements(cells)
    with pytest.raises(SideInformationError, match=r"uns\['log'\] is a list"):
        bio.get_statements(cells, pairs_key="log")
    with pytest.raises(SidelightError, match="unknown model 'KMeans'.*PartitionLevelKMeans"):
        bio.cluster(cells, "KMeans")
    with pytest.raises(SidelightError, match="another key_added"):
        bio.cluster(cells, pairs_key="sidelight")
    with pytest.raises(DataError, match="adata is a ndarray"):
        bio.cluster(np.eye(3))


def test_names_that_are_not_cells_are_refused_when_they_are_told(cells):
    side = SideInformation.from_pairs(must=[("a", "cell-1")], index=["a", "cell-1", "b"])
    with pytest.raises(SideInformationError, match="not in adata.obs_names: 'a'"):
        bio.add_statements(cells, side)
    with pytest.raises(SideInformationError, match="3 rows"):
        bio.add_statements(cells, SideInformation.from_pairs(must=[(0, 1)], n_samples=3))
    assert "statements" not in cells.uns


def test_names_that_stand_for_two_cells_are_refused(cells):
    cells.obs_names = ["x", "x", *cells.obs_names[2:]]
    with pytest.raises(DataError, match=r"'x'. Call adata.obs_names_make_unique\(\)"):
        bio.cluster(cells, labels_key="known")


def test_renamed_cells_are_noticed(cells, said):
    bio.add_statements(cells, said)
    cells.obs_names = [f"{name}-late" for name in cells.obs_names]
    with pytest.warns(UserWarning, match="'cell-0'.*'cell-0-late'.*renamed"):
        assert bio.get_statements(cells).n_statements == 0


def test_a_category_may_stand_for_unknown(cells):
    cells.obs["known"] = cells.obs["known"].astype(object).fillna("Unknown").astype("category")
    bio.cluster(cells, labels_key="known", unlabeled_category="Unknown")
    assert cells.obs["sidelight"].cat.categories.tolist() == ["B cell", "T cell", "new 1"]


def test_names_that_differ_in_type_alone_stay_apart(cells):
    known = np.full(150, None, dtype=object)
    known[[0, 50]] = 3, "3"
    cells.obs["odd"] = known
    bio.cluster(cells, PartitionLevelKMeans(3, random_state=0), labels_key="odd")
    assert cells.obs["sidelight"].cat.categories.tolist()[:2] == ["3", '"3"']


def test_no_cell_known_is_plain_clustering(cells):
    cells.obs["nothing"] = np.full(150, np.nan)
    bio.cluster(cells, PartitionLevelKMeans(3, random_state=0), labels_key="nothing")
    assert cells.uns["sidelight"]["n_statements"] == 0
    assert cells.obs["sidelight"].cat.categories.tolist() == ["0", "1", "2"]
