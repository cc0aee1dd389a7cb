"""A study from Python: the same path as the command line's, as plain functions and data."""

import json
from contextlib import contextmanager

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans

from sidelight import (
    AnnotatedGaussianMixture,
    BayesianMixture,
    ConstrainedKMeans,
    SeededKMeans,
    SideInformation,
    study,
)
from sidelight.exceptions import (
    MissingNumberOfClustersError,
    SidelightError,
    UnknownNumberOfRowsError,
    UnknownRowsError,
    UnsupportedStatementError,
    UnusableColumnsError,
)
from sidelight.models import find_model
from sidelight.select import Compared, Comparison
from sidelight.study._judge import best_of_ours

QUICK = {"model": "PartitionLevelKMeans", "parameters": {"n_init": 2}}


@pytest.fixture
def people():
    """Sixty rows in three groups, with ids, a text column, a gap and three known classes."""
    rng = np.random.default_rng(3)
    X = np.repeat([[60, 1.2], [35, 3.0], [72, 4.5]], 20, axis=0) + rng.normal(size=(60, 2)) * 0.3
    frame = pd.DataFrame(X, columns=["age", "crp"])
    frame.insert(0, "who", [f"p{k:02d}" for k in range(60)])
    frame["town"] = ["Bonn", "Rome"] * 30
    frame["known"] = pd.Series({0: "stable", 20: "mild", 40: "severe"}, dtype=object)
    frame["true"] = np.repeat(["stable", "mild", "severe"], 20)
    frame.loc[7, "crp"] = np.nan
    return frame


def fit(data, **how):
    usual = {"id": "who", "labels": "known", "truth": "true", "drop": ["town"], "impute": "median"}
    return study.fit(data, **{**QUICK, **usual, **how})


def said_of(people, **pairs):
    return SideInformation.from_pairs(**pairs, index=people["who"])


# The answer


def test_a_class_without_a_cluster_is_in_the_notes_once(people, tmp_path):
    people.loc[[1, 2], "known"] = ["rare", "stable"]
    answer = fit(people, n_clusters=3)
    ((_, name),) = answer.result.lost_classes
    told = [note for note in answer.notes if "has no cluster" in note]
    assert len(told) == 1
    assert told[0].startswith(f"Class {name!r} has no cluster: there are 3 clusters for 4 labelled")
    assert told[0] in answer.in_words()
    assert told[0] in answer.write_page(tmp_path / "page.html", picture=None)["notes"]


def test_a_frame_and_its_file_have_the_same_answer(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    pl.from_pandas(people).write_parquet(tmp_path / "people.parquet")
    expected = fit(people)
    assert_array_equal(expected.result.names, people["true"])
    for data in (tmp_path / "people.csv", str(tmp_path / "people.parquet"), pl.DataFrame(people)):
        answer = fit(data)
        assert_array_equal(answer.result.labels, expected.result.labels)
        assert answer.prepared.preparation == expected.prepared.preparation
        here, there = (
            [note for note in told.notes if ", clustered by" not in note]
            for told in (answer, expected)
        )
        assert here == there


def test_the_answer_goes_back_into_a_frame_or_a_file(people, tmp_path):
    answer = fit(people)
    frame = answer.to_frame(prefix="my_")
    assert list(frame) == [*people, "my_cluster", "my_cluster_name", "my_suspect"]
    assert frame["my_cluster_name"].tolist() == people["true"].tolist()
    assert answer.to_frame("polars")["cluster"].to_list() == answer.columns()["cluster"]
    answer.write(tmp_path / "out.csv")
    written = pd.read_csv(tmp_path / "out.csv")
    assert written["cluster_name"].tolist() == people["true"].tolist()
    assert written["crp"].isna().sum() == 1
    with pytest.raises(SidelightError, match="unknown backend 'excel'; known: pandas"):
        answer.to_frame("excel")
    with pytest.raises(SidelightError, match="has a column 'cluster' already"):
        fit(frame.rename(columns=lambda name: name.removeprefix("my_")), columns=["age"]).to_frame()


def test_clusters_membership_and_suspects_agree(people):
    wrong = said_of(people, must=[("p01", "p21")], cannot=[("p02", "p42"), ("p03", "p43")])
    answer = fit(people, model=AnnotatedGaussianMixture(random_state=0), parameters={}, side=wrong)
    assert [c.size for c in answer.clusters] == [20, 20, 20]
    assert sum(c.share for c in answer.clusters) == pytest.approx(1)
    assert_array_equal(answer.membership.argmax(axis=1), answer.result.labels)
    assert_array_equal(answer.columns()["membership"], answer.membership.max(axis=1).round(6))
    assert np.flatnonzero(answer.suspect).tolist() == [1, 21]
    assert (
        np.flatnonzero(~answer.verdict.kept).tolist()
        == np.flatnonzero(answer.verdict.error > 0.5).tolist()
    )
    assert "p01 with p21 (must)" in answer.in_words()
    assert fit(people).membership is None
    assert "membership" not in fit(people).columns()


def mixed_up(n=200, seed=0):
    """Two classes in one cloud and one apart, half of the rows labelled, each column ten times.

    Models that take columns for independent are far too sure of themselves here.
    """
    rng = np.random.default_rng(seed)
    truth = np.repeat(["a", "b", "c"], [n // 2, n // 4, n - n // 2 - n // 4])
    x = rng.normal(size=(n, 2)) + 8.0 * (truth == "c")[:, None]
    known = np.where(rng.random(n) < 0.5, truth, None)
    columns = {f"{name}{k}": x[:, j] for j, name in enumerate("xy") for k in range(10)}
    return pd.DataFrame({**columns, "known": known}), truth


def test_confidence_is_calibrated_by_statements_that_were_held_back():
    table, truth = mixed_up()
    answer = study.fit(table, "AnnotatedGaussianMixture", labels="known")
    assert answer.held_out.n_folds == 5
    assert answer.notes[0] == answer.held_out.in_words()
    untouched = ~np.isnan(answer.confidence) & table["known"].isna().to_numpy()
    right = (answer.result.names == truth)[untouched].mean()
    own = answer.membership.max(axis=1)[untouched].mean()
    assert abs(answer.confidence[untouched].mean() - right) < 0.1 < own - right
    cells = answer.columns()["confidence"]
    assert [cell is None for cell in cells] == np.isnan(answer.confidence).tolist()
    summary = answer.summary()["clusters"][0]
    assert summary["confidence"] < summary["membership"]


def test_few_statements_are_not_held_back_and_it_is_said():
    table, _ = mixed_up()
    table.loc[table.index[10:], "known"] = None
    answer = study.fit(table, "AnnotatedGaussianMixture", labels="known")
    assert answer.held_out is None
    assert answer.confidence is None
    assert "too few to hold some back" in answer.notes[0]
    assert "Ask for" in answer.notes[0]
    assert answer.quality == answer.notes[0]


def test_the_quality_stands_at_the_top_of_the_page(tmp_path):
    table, _ = mixed_up()
    answer = study.fit(table, **QUICK, labels="known")
    summary = answer.write_page(tmp_path / "page.html", picture=None)
    assert summary["quality"] == answer.quality == answer.held_out.in_words()
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    told = f"of {answer.held_out.n_statements} statements that were held back were right"
    assert page.count(told) == 1
    assert page.index(told) < page.index("PartitionLevelKMeans put")
    assert answer.in_words().startswith(answer.quality)


def test_the_best_model_is_chosen_and_why_is_told(monkeypatch):
    table, _ = mixed_up(80)
    monkeypatch.setattr(
        "sidelight.select._compare.our_models", lambda *_: ["SeededKMeans", "ConstrainedKMeans"]
    )
    answer = study.fit(table, "best", labels="known", n_clusters=3, folds=2)
    chosen = type(answer.model).__name__
    assert chosen in ("SeededKMeans", "ConstrainedKMeans")
    assert answer.comparison is not None
    assert any(f"{chosen} with 3 clusters is" in note for note in answer.notes)
    with pytest.raises(SidelightError, match="parameters are given"):
        study.fit(table, "best", labels="known", parameters={"n_init": 3})


@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_best_is_the_choice_if_it_is_ours_and_else_our_best_score(chosen):
    """Ties may choose a candidate that is not the first."""
    rows = [
        Compared("KMeans", 3, 0.9, 0.05, 0.0, 0.1, 0, ""),
        Compared("SeededKMeans", 3, 0.89, 0.05, 0.2, 0.1, 9, ""),
        Compared("ConstrainedKMeans", 3, 0.88, 0.05, 0.4, 0.1, 9, ""),
    ]
    models = [KMeans(3), SeededKMeans(3), ConstrainedKMeans(3)]
    found = Comparison(rows, models, rows[chosen], models[chosen], "Why.", None, [])
    model, notes = best_of_ours(found)
    assert model is models[chosen or 1]
    assert notes == ["Why."] if chosen else "KMeans of scikit-learn reaches 0.90" in notes[0]


def test_a_model_that_is_clearly_better_is_named(monkeypatch):
    """Labels that no clustering shows: a classifier knows better than k-means."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(160, 2))
    table = pd.DataFrame(x * [1.0, 20.0], columns=["a", "b"])
    table["known"] = np.where(x[:, 0] > 0, "right", "left")
    monkeypatch.setattr("sidelight.select._compare.our_models", lambda *_: [])
    how = {"labels": "known", "scale": "none", "folds": 0}
    answer = study.fit(table, "SeededKMeans", **how, beside_others=True)
    better = [note for note in answer.notes if "does better by the statements held back" in note]
    assert len(better) == 1
    assert "standard errors" in better[0]
    assert study.fit(table, "SeededKMeans", **how).comparison is None


def test_folds_can_be_left_out():
    table, _ = mixed_up()
    answer = study.fit(table, "AnnotatedGaussianMixture", labels="known", folds=0)
    assert answer.held_out is None
    assert "held back" not in answer.in_words()


def test_probabilities_are_computed_once(people, monkeypatch, tmp_path):
    calls = []
    plain = BayesianMixture.predict_proba
    monkeypatch.setattr(
        BayesianMixture, "predict_proba", lambda self, X: calls.append(1) or plain(self, X)
    )
    answer = fit(people, model="BayesianMixture", n_clusters=3, parameters={})
    before = len(calls)
    answer.columns()
    answer.to_frame()
    answer.write_page(tmp_path / "page.html", picture=None)
    assert len(calls) - before <= 1


def test_the_page_shows_truth_stability_and_the_command(people, tmp_path):
    answer = fit(people, stability=2)
    assert len(answer.stability) == 2
    summary = answer.write_page(tmp_path / "page.html", title="Ours", command="again", picture=None)
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    for told in ("Ours", "again", "Against the given classes", "Stability over seeds", "severe"):
        assert told in html
    assert json.loads(json.dumps(summary))["columns"] == ["age", "crp"]
    with pytest.raises(SidelightError, match="'map'"):
        answer.write_page(tmp_path / "other.html", picture="map")
    assert not (tmp_path / "other.html").exists()


def test_the_summary_is_plain_data_and_holds_the_preparation(people):
    answer = fit(people)
    summary = json.loads(json.dumps(answer.summary()))
    assert [cluster["name"] for cluster in summary["clusters"]] == ["mild", "severe", "stable"]
    assert summary["notes"] == answer.notes
    again = study.Preparation.from_dict(summary["preparation"])
    assert_array_equal(again.apply(people), answer.prepared.X)


def test_notes_tell_what_was_done_and_what_the_model_warned_of(people):
    few = people.iloc[:3].assign(age=[1.0, 1.0, 2.0], known=None)
    answer = fit(few, columns=["age"], n_clusters=3, truth=None)
    assert answer.notes[0] == "table: 3 rows, clustered by 1 column."
    assert any(note.startswith("Found 2 clusters where 3 were asked for") for note in answer.notes)


def test_cells_are_known_by_name_and_keep_their_statements(tmp_path):
    rng = np.random.default_rng(0)
    adata = anndata.AnnData(np.zeros((20, 1), dtype=np.float32))
    adata.obs_names = [f"c{k}" for k in range(20)]
    adata.obsm["X_pca"] = np.repeat([[0.0, 0], [5, 5]], 10, axis=0) + rng.normal(size=(20, 2)) / 9
    from sidelight import bio

    bio.add_statements(adata, SideInformation.from_labels(["a", *[None] * 18, "b"]))
    adata.write_h5ad(tmp_path / "cells.h5ad")
    answer = study.fit(tmp_path / "cells.h5ad", **QUICK, pairs_key="statements")
    assert answer.result.names.tolist() == ["a"] * 10 + ["b"] * 10
    assert answer.prepared.preparation.scale == "none"
    assert study.gather([], tmp_path / "cells.h5ad", pairs_key="statements").n_statements == 2


# Statements


def test_statements_come_from_files_objects_and_a_column_together(people, tmp_path):
    said = said_of(people, cannot=[("p00", "p20")])
    said.write(tmp_path / "a.csv")
    more = said_of(people, cannot=[("p01", "p41")])
    found = study.gather([tmp_path / "a.csv", more], people, id="who", labels="known")
    assert found == said + more + SideInformation.from_labels(people["known"], index=people["who"])
    assert study.gather(str(tmp_path / "a.csv"), people, id="who") == said


def test_without_a_table_rows_are_counted_or_inferred(tmp_path):
    said = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    said.write(tmp_path / "a.csv")
    assert study.gather(tmp_path / "a.csv", n_rows=3) == said
    assert study.gather(tmp_path / "a.csv").n_samples == 2
    assert study.gather([], n_rows=3).n_statements == 0
    for several in ([tmp_path / "a.csv", said], []):
        with pytest.raises(UnknownNumberOfRowsError):
            study.gather(several)
    with pytest.raises(SidelightError, match="4"):
        study.gather(said, n_rows=4)
    with pytest.raises(SidelightError, match="'who' is a part of the table"):
        study.gather(said, id="who")
    with pytest.raises(SidelightError, match="a table has its own rows"):
        study.gather(said, pd.DataFrame({"x": [1, 2, 3]}), n_rows=3)


@pytest.mark.parametrize(
    "side", [3, [3], {"must": [(0, 1)]}, pd.DataFrame({"kind": ["must"], "i": [0], "j": [1]})]
)
def test_what_holds_no_statements_is_refused(people, side):
    with pytest.raises(SidelightError, match="side is a .*; give files of statements or Side"):
        fit(people, side=side)


# Problems, by type


def test_problems_of_a_study_have_types_with_what_they_know(people, tmp_path):
    (tmp_path / "said.csv").write_text("kind,i,j\nmust,p00,p99\n")
    with pytest.raises(UnknownRowsError) as rows:
        fit(people, side=tmp_path / "said.csv")
    assert (rows.value.rows, rows.value.by_id) == (("p99",), True)
    with pytest.raises(UnknownRowsError) as rows:
        fit(people, side=tmp_path / "said.csv", id=None, drop=["town", "who"])
    assert not rows.value.by_id
    with pytest.raises(UnsupportedStatementError) as kind:
        fit(people, side=said_of(people, must=[("p00", "p01")]))
    assert kind.value.kind == "must"
    with pytest.raises(MissingNumberOfClustersError):
        fit(people, labels=None, drop=["town", "known"])
    with pytest.raises(UnusableColumnsError) as columns:
        fit(people, drop=[], impute=None)
    assert columns.value.problems == {"text": ["town"], "missing": ["crp"]}
    with pytest.raises(SidelightError, match=r"nowhere.csv: there is no such file"):
        fit(people, side="nowhere.csv")


def test_one_column_may_be_named_without_a_list(people):
    assert_array_equal(
        fit(people, drop="town", columns="age").prepared.X,
        fit(people, drop=["town"], columns=["age"]).prepared.X,
    )


def test_statements_that_a_model_cannot_use_are_left_out_on_request(people):
    answer = fit(people, side=said_of(people, must=[("p00", "p01")]), use_what_fits=True)
    assert "1 statement (must) left out" in " ".join(answer.notes)
    assert answer.result.side.n_statements == 3
    assert "left out" not in " ".join(fit(people, use_what_fits=True).notes)


def test_missing_statement_files_are_refused_before_the_table_is_read():
    with pytest.raises(SidelightError, match=r"side.csv: there is no such file"):
        study.fit("nothing.csv", **QUICK, side="side.csv")


# The model


def test_a_model_is_built_from_a_name_or_from_a_model_that_stays_as_it_is():
    built = study.build("partition-level-kmeans", n_clusters=3, parameters={"n_init": 4}, seed=7)
    assert (built.n_clusters, built.n_init, built.random_state) == (3, 4, 7)
    own = find_model("BayesianMixture")(random_state=5)
    built = study.build(own, n_clusters=4, seed=7)
    assert (built.n_components, built.random_state) == (4, 5)
    assert own.get_params() == find_model("BayesianMixture")(random_state=5).get_params()


@pytest.mark.parametrize(
    ("model", "how", "told"),
    [
        ("PartitionLevelKMean", {}, "Did you mean PartitionLevelKMeans?"),
        ("PartitionLevelKMeans", {"parameters": {"n_int": 3}}, "Did you mean 'n_init'?"),
        ("PartitionLevelKMeans", {"parameters": {"n_init": 0}}, "or an int in the range"),
        (
            "PartitionLevelKMeans",
            {"parameters": {"n_clusters": 2}, "n_clusters": 3},
            "given twice: 3, and n_clusters=2",
        ),
    ],
)
def test_parameters_are_checked_before_any_data_is_read(model, how, told):
    with pytest.raises(SidelightError) as caught:
        study.build(model, **how)
    assert told in str(caught.value)


def test_progress_sees_every_step_and_the_tasks_of_the_fit(people):
    class Listener:
        def __init__(self):
            self.stages, self.tasks = [], 0

        @contextmanager
        def stage(self, description):
            self.stages.append(description)
            yield

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            self.tasks += 1

        def on_fit_task_end(self, estimator, context):
            return False

        def teardown(self, estimator, context):
            pass

    listener = Listener()
    fit(people, progress=listener)
    assert listener.stages[:2] == ["reading the table", "fitting PartitionLevelKMeans"]
    assert listener.tasks > 0


# Texts


@pytest.fixture
def letters():
    card = ["my card is lost", "I lost my card today", "the card was stolen from me"]
    rate = ["what is the exchange rate", "rate of exchange is wrong", "exchange at a good rate"]
    return pd.DataFrame({"letter": card + rate, "known": ["card", *[None] * 4, "rate"]})


def test_texts_are_clustered_and_clusters_have_words_and_sentences(letters, tmp_path):
    answer = study.fit(
        letters, "SeededKMeans", labels="known", text="letter", text_model="tf-idf", n_clusters=2
    )
    assert answer.columns()["cluster_name"] == ["card"] * 3 + ["rate"] * 3
    told = {c["name"]: c["texts"][0] for c in answer.summary()["clusters"]}
    assert told["card"]["words"][0] == "card"
    assert set(told["rate"]["words"][:2]) == {"exchange", "rate"}
    assert set(told["card"]["sentences"]) == set(letters["letter"][:3])
    assert answer.summary()["columns"] == []  # directions of words mean nothing to readers
    answer.write_page(tmp_path / "page.html", picture=None)
    assert "I lost my card today" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_truth_and_stability_are_told_in_words(letters):
    answer = study.fit(
        letters.assign(x=[1.0, 2, 3, 4, 5, 6], true=["a"] * 3 + ["b"] * 3),
        "SeededKMeans", labels="known", truth="true", stability=2, drop="letter", n_clusters=2,
    )  # fmt: skip
    told = answer.in_words()
    assert "adjusted Rand index                        1.000" in told
    assert "Adjusted Rand index with 2 fits with other seeds: 1.000 on average" in told
