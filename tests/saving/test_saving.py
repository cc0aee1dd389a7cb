"""Saved models are the same models, and a file that is anything else is refused."""

import io
import json
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import sidelight
from sidelight import BayesianMixture, PartitionLevelKMeans, SideInformation, StatementMetric, study
from sidelight._saving import _archive
from sidelight.exceptions import SavedModelError, SidelightError
from sidelight.models import model_names
from sidelight.side import usable_kinds
from small_models import with_clusters


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    centers = np.array([[1.0, 1, 1], [6, 6, 1], [1, 6, 6]])
    return np.abs(np.repeat(centers, 15, axis=0) + rng.normal(size=(45, 3)))


@pytest.fixture
def side():
    known = [name if k % 5 == 0 else None for k, name in enumerate(np.repeat(["a", "b", "c"], 15))]
    pairs = SideInformation.from_pairs(
        must=[(1, 2), (16, 17)], cannot=[(1, 16), (17, 31)], n_samples=45, annotator="bob"
    )
    return SideInformation.from_labels(known, annotator="ann") + pairs


def fitted(name, X, side, **parameters):
    model = with_clusters(name, 3).set_params(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, side=side.only(kind=usable_kinds(model.accepts)))


def again(model, tmp_path):
    path = tmp_path / "model.sidelight"
    sidelight.save(model, path)
    return sidelight.load(path)


def same(first, second):
    """Whether two values are the same to the bit, all the way down."""
    if isinstance(first, np.ndarray):
        equal = first.dtype == second.dtype and first.shape == second.shape
        if first.dtype == object:
            return equal and all(map(same, first.ravel(), second.ravel()))
        return equal and first.tobytes() == second.tobytes()
    if isinstance(first, float):
        return type(second) is float and repr(first) == repr(second)
    return type(first) is type(second) and first == second


@pytest.mark.parametrize("name", model_names())
def test_every_model_comes_back_with_the_same_answers(name, X, side, tmp_path):
    model = fitted(name, X, side)
    loaded = again(model, tmp_path)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    for attribute in ("labels_", "cluster_names_", "objective_", "history_", "n_clusters_"):
        assert same(getattr(model, attribute), getattr(loaded, attribute)), attribute
    new = X[::-1] + 0.25
    assert same(model.predict(new), loaded.predict(new))
    for method in ("predict_proba", "transform", "score_samples"):
        if hasattr(model, method):
            assert same(getattr(model, method)(new), getattr(loaded, method)(new)), method
    old, result = model.result_, loaded.result_
    assert same(old.verdict.kept, result.verdict.kept)
    assert result.side == old.side
    assert old.provenance == result.provenance
    assert result.names.tolist() == old.names.tolist()
    of_the_process = {name for name in vars(model) if "callback" in name}
    assert set(vars(loaded)) == set(vars(model)) - of_the_process
    if old.verdict.membership is not None:
        mine, theirs = (r.verdict.membership.probabilities(X) for r in (old, result))
        assert same(mine, theirs)
        assert result.verdict.membership.is_about(X)


def test_the_same_model_is_the_same_file(X, side, tmp_path):
    model = fitted("BayesianMixture", X, side)
    for name in ("one", "two"):
        sidelight.save(model, tmp_path / name)
    loaded = sidelight.load(tmp_path / "one")
    sidelight.save(loaded, tmp_path / "three")
    one, two, three = ((tmp_path / name).read_bytes() for name in ("one", "two", "three"))
    assert one == two == three


@pytest.mark.parametrize(
    "parameters",
    [
        {"emission": "poisson"},
        {"emission": "gaussian_diag"},
        {"emission": [("poisson", [0, 1]), ("gaussian", [2])]},
        {"metric": "statements"},
        {"metric": StatementMetric(shrinkage=2.0)},
    ],
)
def test_emissions_and_metrics_come_back(parameters, X, side, tmp_path):
    whole = np.round(X) if "emission" in parameters else X
    model = fitted("BayesianMixture", whole, side, **parameters)
    assert same(model.predict_proba(whole), again(model, tmp_path).predict_proba(whole))


def test_data_frames_sparse_rows_ids_and_odd_names_come_back(X, tmp_path):
    frame = pd.DataFrame(X, columns=["ä", "b", "c"])
    classes = ["3", 3, 2.5, *[None] * 42]
    side = SideInformation.from_labels(classes, index=[f"r{k}" for k in range(45)])
    model = PartitionLevelKMeans(random_state=0).fit(frame, side=side)
    loaded = again(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == ["ä", "b", "c"]
    assert loaded.result_.side == side
    assert list(map(type, loaded.cluster_names_)) == list(map(type, model.cluster_names_))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["b", "ä", "c"]])
    rows = sparse.csr_array(X)
    model = PartitionLevelKMeans(2, random_state=0).fit(rows)
    assert same(model.predict(rows), again(model, tmp_path / "..").predict(rows))


def test_a_loaded_model_goes_on_learning(X, tmp_path):
    model = BayesianMixture(3, random_state=0).partial_fit(X[::2])
    loaded = again(model, tmp_path)
    assert same(
        model.partial_fit(X[1::2]).predict_proba(X), loaded.partial_fit(X[1::2]).predict_proba(X)
    )


def test_what_is_not_fitted_or_not_ours_is_not_saved(X, tmp_path):
    path = tmp_path / "model.sidelight"
    with pytest.raises(SidelightError, match="not fitted"):
        sidelight.save(PartitionLevelKMeans(), path)
    with pytest.raises(SidelightError, match="a dict cannot be saved"):
        sidelight.save({}, path)

    class Own(PartitionLevelKMeans):
        pass

    with pytest.raises(SidelightError, match="Own, which cannot be saved"):
        sidelight.save(Own(2, random_state=0).fit(X), path)
    model = PartitionLevelKMeans(2, random_state=np.random.RandomState(0)).fit(X)
    with pytest.raises(SidelightError, match=r"random_state is a numpy.*a number"):
        sidelight.save(model, path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_replaced_unless_asked(X, tmp_path):
    path = tmp_path / "model.sidelight"
    path.write_text("mine")
    model = PartitionLevelKMeans(2, random_state=0).fit(X)
    with pytest.raises(SidelightError, match="overwrite=True"):
        sidelight.save(model, path)
    sidelight.save(model, path, overwrite=True)
    assert same(sidelight.load(path).labels_, model.labels_)


# Files that are anything else


@pytest.fixture
def saved(X, side, tmp_path):
    path = tmp_path / "model.sidelight"
    sidelight.save(fitted("BayesianMixture", X, side), path)
    return path


def entries(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, contents, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def changed(path, change):
    """The file with another manifest."""
    contents = entries(path)
    manifest = json.loads(contents["model.json"])
    change(manifest)
    rewrite(path, {**contents, "model.json": json.dumps(manifest)})
    return path


@pytest.mark.parametrize(("version", "by"), [(2, "0.1.0"), (1, "999.0"), (None, "0.1.0")])
def test_a_file_of_a_newer_version_is_refused(saved, version, by):
    changed(saved, lambda told: told.update(version=version, sidelight=by))
    with pytest.raises(SavedModelError, match=rf"sidelight {by} .*Install the newer"):
        sidelight.load(saved)


def test_the_version_that_saved_it_is_in_the_file(saved):
    assert json.loads(entries(saved)["model.json"])["sidelight"] == sidelight.__version__


@pytest.mark.parametrize("name", ["evil.py", "arrays/0.pkl", "../model.json", "arrays/../x.npy"])
def test_entries_that_are_no_part_of_a_model_are_refused(saved, name):
    rewrite(saved, {**entries(saved), name: b"print('gotcha')"})
    with pytest.raises(SavedModelError, match="not part of a saved model"):
        sidelight.load(saved)


def test_arrays_of_python_objects_are_refused(saved):
    class Gotcha:
        def __reduce__(self):
            return pytest.fail, ("code of the file was executed",)

    file = io.BytesIO()
    np.save(file, np.array([Gotcha()], dtype=object), allow_pickle=True)
    rewrite(saved, {**entries(saved), "arrays/0.npy": file.getvalue()})
    with pytest.raises(SavedModelError, match="array of object"):
        sidelight.load(saved)


@pytest.mark.parametrize(
    "name",
    [
        "subprocess:Popen",
        "os:system",
        "sidelight.models._fitting:Deadline",
        "sidelight.models._bayesian.run:np",
        "sidelight.results:Membership",
        "sidelight.side._files:read",
        "sidelight.web._serve:serve",
        "sidelight.results.__class__:x",
    ],
)
def test_classes_that_are_not_data_of_ours_are_refused(saved, name):
    changed(saved, lambda told: told["parts"].update(model={"class": name, "fields": {}}))
    with pytest.raises(SavedModelError, match="nor a part of one"):
        sidelight.load(saved)


def test_models_are_known_by_the_registry_only(saved):
    changed(saved, lambda told: told["parts"]["model"].update(model="SideClusterer"))
    with pytest.raises(SavedModelError, match="not a model of sidelight"):
        sidelight.load(saved)


def test_a_file_that_grows_when_it_is_read_is_refused(saved):
    contents = entries(saved)
    rewrite(saved, {**contents, "arrays/0.npy": bytes(10**7)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(SavedModelError, match="compressed"):
        sidelight.load(saved)


def test_an_array_that_claims_to_be_large_is_refused(saved):
    contents = entries(saved)
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(file, header)
    rewrite(saved, {**contents, "arrays/0.npy": file.getvalue() + b"12345678"})
    with pytest.raises(SavedModelError, match="another length"):
        sidelight.load(saved)


def test_sparse_matrices_that_point_beside_themselves_are_refused(X, side, tmp_path):
    path = tmp_path / "model.sidelight"
    sidelight.save(fitted("ConstraintPropagation", X, side), path)
    contents = entries(path)
    nodes = contents["model.json"].decode()
    number = int(nodes.split('"indices": ')[1].split(",")[0])
    indices = _archive._array(contents[f"arrays/{number}.npy"])
    file = io.BytesIO()
    np.save(file, np.full_like(indices, 2**30))
    rewrite(path, {**contents, f"arrays/{number}.npy": file.getvalue()})
    with pytest.raises(SavedModelError, match="damaged"):
        sidelight.load(path)


def test_statements_about_rows_that_are_not_there_are_refused(saved):
    def change(told):
        side = told["parts"]["model"]["state"]["result_"]["fields"]["side"]["fields"]
        side["n_samples"] = 3

    with pytest.raises(SavedModelError, match="out of range"):
        sidelight.load(changed(saved, change))


@pytest.mark.parametrize("cut", [0, 10, 500, -30])
def test_a_damaged_file_is_a_sentence(saved, cut):
    saved.write_bytes(saved.read_bytes()[:cut])
    with pytest.raises(SavedModelError, match="damaged|not a model"):
        sidelight.load(saved)


def test_flipped_bits_are_noticed(saved):
    data = saved.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(data), size=60).tolist():
        spoilt = bytearray(data)
        spoilt[place] ^= 0x10
        saved.write_bytes(spoilt)
        try:
            loaded = sidelight.load(saved)
        except SavedModelError:
            continue
        # A bit of a date or a flag that nobody reads: the model is whole.
        assert entries(saved)
        assert loaded.labels_.shape == (45,)


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"format": "sidelight model", "version": 1}', "[" * 9999]
)
def test_json_that_is_something_else_is_refused(saved, text):
    rewrite(saved, {"model.json": text})
    with pytest.raises(SavedModelError):
        sidelight.load(saved)


# With a preparation


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2)) + np.repeat([0, 8], 30)[:, None]
    frame = pd.DataFrame(X, columns=["length", "width"])
    known = [name if k % 3 == 0 else None for k, name in enumerate(["low"] * 30 + ["high"] * 30)]
    return frame.assign(town=["Bonn", "Rome"] * 30, who=[f"p{k}" for k in range(60)], known=known)


def test_an_answer_is_saved_with_its_preparation(table, tmp_path):
    table.loc[4, "width"] = None
    answer = study.fit(
        table, "BayesianMixture", id="who", labels="known", one_hot="town", impute="median",
        n_clusters=4,
    )  # fmt: skip
    path = tmp_path / "model.sidelight"
    sidelight.save(answer, path)
    saved = sidelight.load(path)
    assert saved.quality == answer.quality
    assert saved.version == sidelight.__version__
    turned = table.drop(columns="known").iloc[::-1, ::-1].assign(more=1.0)
    found = saved.predict(turned)
    assert_array_equal(found.labels, answer.model.predict(answer.prepared.X)[::-1])
    assert found.notes == ["Not used: more."]
    told = found.to_frame()
    assert told.columns.tolist()[-4:] == ["cluster", "cluster_name", "membership", "confidence"]
    assert_array_equal(
        np.round(answer.confidence, 6), np.array(found.columns()["confidence"])[::-1]
    )


def test_new_rows_that_do_not_fit_are_named(table, tmp_path):
    answer = study.fit(table, "SeededKMeans", id="who", labels="known", one_hot="town")
    saved = study.Saved.of(answer)
    with pytest.raises(SidelightError, match=r"no column 'width'. Did you mean 'Width'\?"):
        saved.predict(table.rename(columns={"width": "Width"}))
    with pytest.raises(SidelightError, match=r"'Paris' \(row p7\)"):
        saved.predict(table.assign(town=["Bonn"] * 7 + ["Paris"] + ["Rome"] * 52))
    gap = table.drop(columns="who")
    gap.loc[2, "length"] = None
    with pytest.raises(SidelightError, match=r"1 missing value \(row 3\)"):
        saved.predict(gap)


def test_texts_of_new_rows_are_read_as_those_of_the_fit(tmp_path):
    letters = pd.DataFrame({
        "letter": ["my card is lost", "lost card", "what is the rate", "exchange rate"],
        "known": ["card", None, None, "rate"],
    })  # fmt: skip
    answer = study.fit(letters, "SeededKMeans", labels="known", text="letter", text_model="tf-idf")
    sidelight.save(answer, tmp_path / "m")
    new = pd.DataFrame({"letter": ["exchange rate please", "a lost card"]})
    assert sidelight.load(tmp_path / "m").predict(new).names.tolist() == ["rate", "card"]


def test_cells_are_predicted_by_the_representation_of_the_fit(X, tmp_path):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(X.astype(np.float32), obsm={"X_pca": X, "X_other": X[:, ::-1].copy()})
    cells.obs_names = [f"c{k}" for k in range(45)]
    cells.write_h5ad(tmp_path / "cells.h5ad")
    how = {"use_rep": "X_other", "n_clusters": 3}
    answer = study.fit(tmp_path / "cells.h5ad", "SeededKMeans", **how)
    sidelight.save(answer, tmp_path / "m")
    found = sidelight.load(tmp_path / "m").predict(tmp_path / "cells.h5ad")
    assert_array_equal(found.labels, answer.model.predict(answer.prepared.X))
    found.write(tmp_path / "out.h5ad")
    assert "cluster_name" in anndata.read_h5ad(tmp_path / "out.h5ad").obs


def test_a_saved_study_without_a_sound_preparation_is_refused(table, tmp_path):
    path = tmp_path / "model.sidelight"
    sidelight.save(study.fit(table, "SeededKMeans", id="who", labels="known", drop="town"), path)
    changed(path, lambda told: told["parts"].pop("preparation"))
    with pytest.raises(SavedModelError, match="damaged"):
        sidelight.load(path)
