"""Data sets by name: sizes, recipes, sources and what is said when something is missing."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from sidelight.datasets import Dataset, list_datasets, load
from sidelight.datasets._catalogue import ENTRIES
from sidelight.exceptions import DataError, DatasetNotFoundError

ALL = [(info.name, info.variant) for info in list_datasets()]
BUNDLED = [name for name, entry in ENTRIES.items() if entry.bundled]


@pytest.fixture
def empty_home(tmp_path: Path) -> Path:
    return tmp_path


def write(home: Path, name: str, **changes) -> Path:
    parts = {
        "X": np.arange(6.0).reshape(3, 2),
        "y": np.array([0, 1, 1]),
        "class_names": np.array(["a", "b"]),
        "feature_names": np.array([], dtype=str),
    }
    parts.update(changes)
    path = home / f"{name}.npz"
    np.savez(path, **{key: value for key, value in parts.items() if value is not None})
    return path


def published_table(folder: Path) -> dict[str, tuple[int, int, int, list[int]]]:
    """Name, N, D, K and class counts from the table that lies beside the files."""
    rows = {}
    for line in (folder / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 11 or not re.fullmatch(r"`[0-9a-f]{64}`", cells[10]):
            continue
        n, d, k = (int(cell) for cell in cells[1:4])
        each = cells[4].removeprefix("each ")
        counts = [int(c) for c in each.split(",")] * (k if each != cells[4] else 1)
        rows[cells[0]] = (n, d, k, counts)
    return rows


def test_every_file_has_the_size_and_class_counts_of_the_published_table(shared_data):
    table = published_table(shared_data)
    assert set(table) == set(ENTRIES) - {"digits", "breast_cancer"}
    for name, (n, d, k, counts) in table.items():
        data = load(name, data_home=shared_data)
        assert data.X.shape == (n, d)
        assert np.bincount(data.y).tolist() == counts
        assert len(data.class_names) == k == ENTRIES[name].size.n_classes


@pytest.mark.parametrize(("name", "variant"), ALL)
def test_every_variant_has_the_size_that_the_list_promises(name, variant, shared_data):
    info = next(i for i in list_datasets() if (i.name, i.variant) == (name, variant))
    data = load(name, variant, shared_data)
    assert isinstance(data, Dataset)
    assert data.X.shape == (info.n_samples, info.n_features)
    assert data.y.dtype == np.int64
    assert np.unique(data.y).tolist() == list(range(info.n_classes))
    assert len(data.class_names) == info.n_classes
    assert len(data.feature_names) in (0, info.n_features)


@pytest.mark.parametrize(
    ("name", "variant", "counts"),
    [
        ("breast", "sscipa", [444, 239]),
        ("breast", "plsi", [458, 241]),
        ("ecoli", "plsi", [143, 77, 35, 20, 5, 52]),
        ("ecoli", "comac", [143, 77, 35, 20, 52]),
        ("pendigits", "sscipa", [719, 719, 719]),
        ("wine", "sse", [57, 71, 47]),
        ("optdigits", "sse", [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]),
        ("segmentation", "comac", [30] * 7),
    ],
)
def test_row_filters_leave_the_class_counts_of_the_papers(name, variant, counts, shared_data):
    assert np.bincount(load(name, variant, shared_data).y).tolist() == counts


def test_rows_that_stay_keep_their_class_names(shared_data):
    whole, part = load("ecoli", None, shared_data), load("ecoli", "plsi", shared_data)
    names = whole.class_names[whole.y]
    stay = ~np.isin(names, ["imS", "imL"])
    np.testing.assert_array_equal(part.class_names[part.y], names[stay])
    np.testing.assert_array_equal(part.X, whole.X[stay])


def test_the_digits_of_sscipa_are_3_8_and_9_of_the_training_file(shared_data):
    whole, part = load("pendigits", None, shared_data), load("pendigits", "sscipa", shared_data)
    assert part.class_names.tolist() == ["3", "8", "9"]
    np.testing.assert_array_equal(part.X, whole.X[:7494][np.isin(whole.y[:7494], [3, 8, 9])])


def test_breast_without_its_id_column_is_the_complete_rows(shared_data):
    with_id = load("breast_libsvm", "sse", shared_data)
    complete = load("breast", "sscipa", shared_data)
    np.testing.assert_array_equal(with_id.X[:, 1:], complete.X)
    np.testing.assert_array_equal(with_id.y, complete.y)


def test_missing_values_of_breast_are_nan_and_become_zero_for_plsi(shared_data):
    plain, filled = load("breast", None, shared_data).X, load("breast", "plsi", shared_data).X
    missing = np.isnan(plain)
    assert missing.sum() == 16
    assert (filled[missing] == 0).all()
    np.testing.assert_array_equal(filled[~missing], plain[~missing])


def test_wine_of_plsi_differs_in_the_last_column_only(empty_home):
    plain, changed = load("wine", None, empty_home).X, load("wine", "plsi", empty_home).X
    np.testing.assert_array_equal(changed[:, :-1], plain[:, :-1])
    np.testing.assert_allclose(changed[:, -1] * 1000, plain[:, -1])


def test_wine_of_sse_is_scaled_over_all_rows_before_three_are_dropped(empty_home):
    plain, scaled = load("wine", None, empty_home).X, load("wine", "sse", empty_home).X
    kept = np.delete(np.arange(178), [19, 55, 152])
    low, high = plain.min(axis=0), plain.max(axis=0)
    np.testing.assert_allclose(low + (scaled + 1) / 2 * (high - low), plain[kept])


@pytest.mark.parametrize("name", ["iris", "wine", "user", "ionosphere"])
def test_scaled_variants_have_mean_zero_and_deviation_one_half(name, shared_data):
    X = load(name, "comac_scaled", shared_data).X
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 0.5)


def test_the_constant_column_of_ionosphere_is_the_one_that_goes(shared_data):
    plain = load("ionosphere", None, shared_data)
    scaled = load("ionosphere", "comac", shared_data)
    assert set(plain.feature_names) - set(scaled.feature_names) == {"a02"}


def test_vertebral_of_comac_has_two_decimals(shared_data):
    X = load("vertebral", "comac", shared_data).X
    np.testing.assert_array_equal(X, np.round(X, 2))
    assert not np.array_equal(X, load("vertebral", None, shared_data).X)


@pytest.mark.parametrize("name", ["ecoli", "segmentation"])
def test_principal_components_are_uncorrelated_and_falling_in_variance(name, shared_data):
    X = load(name, "comac", shared_data).X
    covariance = np.cov(X.T)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-10)
    assert (np.diff(np.diag(covariance)) < 0).all()


def test_components_equal_those_of_scikit_learn_up_to_sign(shared_data):
    from sklearn.decomposition import PCA

    plain = load("segmentation", None, shared_data)
    X = np.delete(plain.X, plain.feature_names.tolist().index("region_pixel_count"), axis=1)
    expected = PCA(5).fit_transform((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))
    found = load("segmentation", "comac", shared_data).X
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-10)


@pytest.mark.parametrize("name", ["pbmc_10x", "worm_neuron"])
def test_counts_of_genes_come_as_csr(name, shared_data):
    X = load(name, None, shared_data).X
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.dtype == np.float32


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_file_and_scikit_learn_give_the_same_data(name, shared_data, empty_home):
    from_file, bundled = load(name, None, shared_data), load(name, None, empty_home)
    assert from_file.X.dtype == bundled.X.dtype
    np.testing.assert_array_equal(from_file.X, bundled.X)
    np.testing.assert_array_equal(from_file.y, bundled.y)
    assert from_file.class_names.tolist() == bundled.class_names.tolist()
    assert from_file.feature_names.tolist() == bundled.feature_names.tolist()


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_and_their_variants_need_no_file(name, empty_home):
    for info in list_datasets():
        if info.name == name:
            assert not info.needs_file
            data = load(name, info.variant, empty_home)
            assert data.X.shape == (info.n_samples, info.n_features)


def test_iris_of_scikit_learn_is_scikit_learns(empty_home):
    from sklearn.datasets import load_iris

    np.testing.assert_array_equal(load("iris", "sklearn", empty_home).X, load_iris().data)
    assert (load_iris().data != load("iris", None, empty_home).X).sum() == 3


def test_the_file_wins_over_the_bundled_copy(empty_home):
    plain = load("wine", None, empty_home)
    write(
        empty_home,
        "wine",
        X=plain.X + 1,
        y=plain.y,
        class_names=plain.class_names,
        feature_names=plain.feature_names,
    )
    np.testing.assert_array_equal(load("wine", None, empty_home).X, plain.X + 1)


def test_a_load_does_not_change_the_next_one(empty_home):
    first = load("iris", None, empty_home)
    before = first.X.copy()
    first.X[:] = 0
    np.testing.assert_array_equal(load("iris", None, empty_home).X, before)


def test_a_missing_file_says_what_to_put_where(empty_home):
    with pytest.raises(DatasetNotFoundError) as error:
        load("ecoli", None, empty_home)
    message = str(error.value)
    for part in ("ecoli.npz", str(empty_home), "SIDELIGHT_DATA", "data_home", "336 x 7", "y (n,)"):
        assert part in message
    assert isinstance(error.value, FileNotFoundError)
    assert isinstance(error.value, ValueError)


def test_missing_optdigits_point_to_the_bundled_digits(empty_home):
    with pytest.raises(DatasetNotFoundError, match=r"load\('digits'\)"):
        load("optdigits", None, empty_home)


def test_an_unknown_name_offers_the_nearest_known_one(empty_home):
    with pytest.raises(DatasetNotFoundError, match="Did you mean ecoli"):
        load("e-coli", None, empty_home)


def test_an_unknown_variant_lists_the_known_ones(empty_home):
    with pytest.raises(DataError, match="'sscipa', 'ssdpgmm', 'plsi'"):
        load("wine", "sklearn", empty_home)


@pytest.mark.parametrize("name", ["../iris", "a/b", "", ".hidden", "a b"])
def test_a_name_cannot_leave_the_folder(name, empty_home):
    with pytest.raises(DataError, match="data_home"):
        load(name, None, empty_home)


def test_the_folder_is_the_argument_else_the_environment_else_the_users(tmp_path, monkeypatch):
    homes = {key: tmp_path / key for key in ("argument", "environment", "user/sidelight")}
    for value, home in enumerate(homes.values()):
        home.mkdir(parents=True)
        write(home, "own", X=np.full((3, 2), float(value)))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("SIDELIGHT_DATA", raising=False)
    assert load("own").X[0, 0] == 2
    monkeypatch.setenv("SIDELIGHT_DATA", str(homes["environment"]))
    assert load("own").X[0, 0] == 1
    assert load("own", data_home=homes["argument"]).X[0, 0] == 0


def test_ones_own_file_loads_and_has_no_variants(empty_home):
    write(empty_home, "own")
    data = load("own", None, empty_home)
    assert data.class_names[data.y].tolist() == ["a", "b", "b"]
    assert repr(data) == "Dataset('own': 3 x 2, 2 classes)"
    with pytest.raises(DataError, match="has none"):
        load("own", "plsi", empty_home)


def test_ones_own_sparse_file_loads_as_csr(empty_home):
    matrix = sparse.random_array((3, 5), density=0.5, format="csr", rng=0)
    write(
        empty_home,
        "own",
        X=None,
        data=matrix.data,
        indices=matrix.indices,
        indptr=matrix.indptr,
        shape=np.array(matrix.shape),
    )
    np.testing.assert_array_equal(load("own", None, empty_home).X.toarray(), matrix.toarray())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": None}, "it must hold the arrays X"),
        ({"y": None}, "it must hold the arrays X"),
        ({"y": np.array([0, 1])}, "one y per row"),
        ({"y": np.array([0, 1, 2])}, "class numbers from 0 to 1"),
        ({"y": np.array([-1, 0, 1])}, "class numbers from 0 to 1"),
        ({"y": np.array([0.0, 1.0, 1.0])}, "class numbers from 0 to 1"),
        ({"X": np.array([["1"], ["2"], ["3"]])}, "must hold numbers"),
        ({"class_names": np.array("a")}, "one dimension"),
        ({"feature_names": np.array(["one"])}, "1 feature names for 2 columns"),
        ({"class_names": np.array(["a", None], dtype=object)}, "plain arrays"),
    ],
)
def test_a_file_in_another_format_is_refused_by_name(changes, message, empty_home):
    path = write(empty_home, "own", **changes)
    with pytest.raises(DataError, match=message) as error:
        load("own", None, empty_home)
    assert str(path) in str(error.value)


def test_a_file_that_is_no_archive_is_refused(empty_home):
    for content in (b"", b"not an archive", write(empty_home, "own").read_bytes()[:300]):
        (empty_home / "own.npz").write_bytes(content)
        with pytest.raises(DataError, match=r"not an \.npz file"):
            load("own", None, empty_home)
    with (empty_home / "own.npz").open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(DataError, match=r"not an \.npz file"):
        load("own", None, empty_home)


def test_broken_sparse_parts_are_refused(empty_home):
    write(
        empty_home,
        "own",
        X=None,
        data=np.ones(2),
        indices=np.array([0, 9]),
        indptr=np.array([0, 1, 2, 2]),
        shape=np.array([3, 5]),
    )
    with pytest.raises(DataError, match="CSR"):
        load("own", None, empty_home)


def test_a_file_under_a_known_name_must_be_that_data_set(empty_home):
    write(empty_home, "ecoli")
    with pytest.raises(DataError, match=r"holds 3 x 2 in 2 classes.*336 x 7 in 8"):
        load("ecoli", None, empty_home)


def test_importing_the_loaders_does_not_load_scikit_learn():
    code = "import sys, sidelight.datasets; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
