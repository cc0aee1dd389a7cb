"""``sidelight fit`` on the cells of an .h5ad file."""

import anndata
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from numpy.testing import assert_array_equal
from scipy import sparse

from sidelight import PartitionLevelKMeans, SideInformation, bio

MODEL = ("--model", "PartitionLevelKMeans", "--set", "n_init=2")


@pytest.fixture
def path(tmp_path):
    """Sixty cells in three groups, two of them with known cells."""
    rng = np.random.default_rng(0)
    adata = AnnData(rng.poisson(1.0, size=(60, 3)).astype(np.float32))
    adata.obs_names = [str(100 + k) for k in range(60)]  # names, though they look like numbers
    adata.obsm["X_pca"] = np.repeat([[0.0, 0], [50, 0.1], [50, 0.9]], 20, axis=0)
    adata.obsm["X_pca"] += rng.normal(scale=0.05, size=(60, 2))
    known = np.full(60, None, dtype=object)
    known[:5], known[20:25] = "B cell", "T cell"
    adata.obs["known"] = pd.Categorical(known)
    adata.obs["counts"] = np.arange(60)
    adata.obs["fine"] = True
    adata.obs["depth"] = pd.array([None, *range(59)], dtype="Int64")
    far = SideInformation.from_pairs(cannot=[("125", "145")], index=adata.obs_names)
    bio.add_statements(adata, far)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def fit(run, path, out, *more):
    begin = ("fit", path, *MODEL, "--labels", "known", "--clusters", 3, "--out", out)
    result = run(*begin, *more)
    assert result.exit_code == 0, result.output
    return result


def test_cells_come_back_with_their_clusters(run, path):
    out = path.parent / "answer.h5ad"
    told = fit(run, path, out, "--pairs-key", "statements").output
    assert "own units" in told
    before, after = anndata.read_h5ad(path), anndata.read_h5ad(out)
    model = PartitionLevelKMeans(3, n_init=2, random_state=0)
    bio.cluster(before, model, labels_key="known", pairs_key="statements")
    assert_array_equal(after.obs["cluster_name"], before.obs["sidelight"])
    assert isinstance(after.obs["cluster_name"].dtype, pd.CategoricalDtype)
    assert after.obs["cluster"].dtype.kind == "i"
    assert after.uns["statements"].equals(before.uns["statements"])
    assert_array_equal(after.X, before.X)


def test_cells_become_a_table_of_names_and_what_is_known(run, path):
    out, side = path.parent / "answer.csv", path.parent / "said.csv"
    side.write_text("kind,i,j\ncannot,125,145\n")
    fit(run, path, out, "--side", side)
    frame = pd.read_csv(out)
    begin = ["obs_names", "known", "counts", "fine", "depth", "X_pca0", "X_pca1"]
    assert frame.columns.tolist() == [*begin, "cluster", "cluster_name", "suspect"]
    assert frame["obs_names"].tolist() == list(range(100, 160))
    assert set(frame["cluster_name"]) == {"B cell", "T cell", "new 1"}
    assert_array_equal(frame["depth"], [np.nan, *range(59)])
    assert run("check", side, "--data", path).exit_code == 0


def test_another_representation_or_the_matrix_itself(run, path):
    result = fit(run, path, path.parent / "x.csv", "--use-rep", "X", "--scale", "minmax")
    assert "clustered by 3 columns" in result.output
    adata = anndata.read_h5ad(path)
    adata.X = sparse.csr_matrix(adata.X)
    adata.write_h5ad(path)
    wrong = ("fit", path, *MODEL, "--clusters", 3, "--out", path.parent / "y.csv")
    assert "bio.cluster" in str(run(*wrong, "--use-rep", "X").exception)
    assert "'X_umap'" in str(run(*wrong, "--use-rep", "X_umap").exception)


def test_what_is_for_cells_is_refused_elsewhere(run, path, patients):
    table = ("fit", patients, *MODEL, "--clusters", 3, "--out", path.parent / "y.csv")
    table += ("--columns", "age")
    assert "for .h5ad files" in str(run(*table, "--use-rep", "X_pca").exception)
    assert "give statements" in str(run(*table, "--pairs-key", "said").exception)
    out = ("fit", patients, *MODEL, "--clusters", 3, "--out", path.parent / "y.h5ad")
    assert ".parquet; name it so" in str(run(*out).exception)


def test_a_broken_file_is_a_sentence(run, tmp_path):
    (tmp_path / "no.h5ad").write_text("kind,i,j")
    result = run("fit", tmp_path / "no.h5ad", *MODEL, "--out", tmp_path / "y.csv")
    assert "cannot be read as .h5ad" in str(result.exception)


def test_a_column_that_stands_twice_is_refused(run, path):
    adata = anndata.read_h5ad(path)
    adata.obs["X_pca1"] = 1
    adata.write_h5ad(path)
    result = run("fit", path, *MODEL, "--clusters", 3, "--out", path.parent / "y.csv")
    assert "'X_pca1' names two columns" in str(result.exception)


def test_the_page_names_genes_and_no_principal_components(run, path):
    adata = anndata.read_h5ad(path)
    counts = adata.X.copy()
    counts[:20, 1] += 9
    adata.X = sparse.csr_matrix(counts)
    adata.var["feature_name"] = ["CD3E", "CD79A", "NKG7"]
    adata.write_h5ad(path)
    page = path.parent / "page.html"
    fit(run, path, path.parent / "answer.csv", "--report", page)
    html = page.read_text(encoding="utf-8")
    assert "<b>CD79A</b>" in html
    assert "Genes that are higher in the cluster" in html
    assert "X_pca" not in html.split("What sets them apart")[1].split("What people said")[0]
