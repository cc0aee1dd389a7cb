"""Drawing side information from a truth: each paper's scheme, in numbers and in statistics."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.exceptions import SideInformationError, SidelightError
from sidelight.side import (
    CANNOT,
    LABEL,
    MUST,
    NOT_LABEL,
    SideInformation,
    sample_labels,
    sample_pairs,
)
from sidelight.side._sampling import _Pairs, _read_truth
from strategies import truths

Y = np.repeat([0, 1, 2], [50, 30, 20])


def close(count, n, p):
    """Within five standard deviations of a binomial's mean."""
    return abs(count - n * p) <= 5 * math.sqrt(n * p * (1 - p)) + 1e-9


def right(side, y):
    """Which statements the truth bears out."""
    said = side.statements
    same = y[said.i] == y[said.j]
    own = np.array(side.classes or (0,), dtype=object)[said.class_code] == y[said.i]
    return np.where(
        said.kind <= CANNOT, same == (said.kind == MUST), own == (said.kind == LABEL)
    ).astype(bool)


# Pairs


@pytest.mark.parametrize(("ordered", "with_self"), list(product([False, True], repeat=2)))
@given(y=truths())
def test_the_numbered_pairs_are_all_pairs_once(y, ordered, with_self):
    truth = _read_truth(y)
    pairs = _Pairs(truth, ordered, with_self)
    n = len(y)
    wanted = {
        (a, b)
        for a, b in product(range(n), repeat=2)
        if (a < b or (ordered and a != b)) or (with_self and a == b)
    }
    classes = truth.codes[truth.rows]
    for universe, belongs in (
        (pairs.any, lambda a, b: True),
        (pairs.same, lambda a, b: classes[a] == classes[b]),
        (pairs.different, lambda a, b: classes[a] != classes[b]),
    ):
        size, find = universe
        a, b = find(np.arange(size))
        found = list(zip(a.tolist(), b.tolist(), strict=True))
        assert len(found) == len(set(found))
        assert set(found) == {pair for pair in wanted if belongs(*pair)}


def test_pair_numbers_are_exact_far_beyond_the_precision_of_a_float():
    n = 200_000_000
    truth = _read_truth([0, 0])._replace(rows=range(n), sizes=np.array([n]))
    size, find = _Pairs(truth, False, False).any
    k = np.array([0, 1, 2, size // 2, size - n, size - 2, size - 1])
    a, b = find(k)
    assert (a < b).all()
    assert (a >= 0).all()
    assert b.max() == n - 1
    assert (b * (b - 1) // 2 + a == k).all()


def test_ssc_ipa_uniform_pairs_with_replacement_right_with_probability_p():
    side = sample_pairs(Y, 400.0, accuracy=0.8, random_state=0)
    assert side.n_statements == 40_000
    assert side.n_samples == 100
    said = side.statements
    same = Y[said.i] == Y[said.j]
    n_same = sum(math.comb(size, 2) for size in (50, 30, 20))
    assert close(same.sum(), 40_000, n_same / math.comb(100, 2))
    for kind in (True, False):  # both kinds of truth are misjudged equally often
        assert close(right(side, Y)[same == kind].sum(), (same == kind).sum(), 0.8)
    counts = np.bincount(said.i * 100 + said.j, minlength=10_000).reshape(100, 100)
    counts = counts[np.triu_indices(100, 1)]
    assert counts.sum() == 40_000  # no self pairs
    chi_square = ((counts - 40_000 / 4950) ** 2 / (40_000 / 4950)).sum()
    assert abs(chi_square - 4949) < 5 * math.sqrt(2 * 4949)
    assert counts.max() > 1


def test_ssc_ipa_self_pairs_are_as_likely_as_others():
    side = sample_pairs(Y, 20_000, self_pairs="keep", accuracy=0.9, random_state=1)
    own = side.statements.i == side.statements.j
    assert close(own.sum(), 20_000, 100 / (100 * 101 / 2))
    assert close((side.statements.kind[own] == CANNOT).sum(), own.sum(), 0.1)


def test_sse_pairs_of_each_kind():
    y = Y[:97]
    side = sample_pairs(y, n_must=0.2, n_cannot=0.2, rounding="floor", random_state=0)
    assert (len(side.must), len(side.cannot)) == (19, 19)
    assert right(side, y).all()
    side = sample_pairs(Y, n_must=30_000, n_cannot=30_000, random_state=0)
    # uniform over the pairs of the kind, not over classes first: the largest class has most pairs
    pairs_inside = [math.comb(size, 2) for size in (50, 30, 20)]
    inside = np.bincount(Y[side.must[:, 0]])
    for count, pairs in zip(inside, pairs_inside, strict=True):
        assert close(count, 30_000, pairs / sum(pairs_inside))
    between = Counter(map(tuple, np.sort(Y[side.cannot], axis=1).tolist()))
    products = {(0, 1): 1500, (0, 2): 1000, (1, 2): 600}
    for classes, pairs in products.items():
        assert close(between[classes], 30_000, pairs / 3100)


def test_comac_ordered_pairs_without_replacement():
    side = sample_pairs(Y, 1.5, ordered=True, replace=False, random_state=0)
    assert side.n_statements == 150
    y = [0, 0, 1]
    side = sample_pairs(y, 6, ordered=True, replace=False, random_state=0)
    assert Counter(zip(side.statements.i.tolist(), side.statements.j.tolist(), strict=True)) == {
        (0, 1): 2,
        (0, 2): 2,
        (1, 2): 2,
    }
    with pytest.raises(SideInformationError, match=r"n_pairs asks for 7 pairs.*y has 6"):
        sample_pairs(y, 7, ordered=True, replace=False)


@given(y=truths(), seed=st.integers(0, 10), ordered=st.booleans(), data=st.data())
def test_without_replacement_no_pair_comes_twice(y, seed, ordered, data):
    n = len(y)
    most = n * (n - 1) // (1 if ordered else 2)
    n_pairs = data.draw(st.integers(0, most))
    side = sample_pairs(y, n_pairs, replace=False, ordered=ordered, random_state=seed)
    assert side.n_statements == n_pairs
    counts = Counter(zip(side.statements.i.tolist(), side.statements.j.tolist(), strict=True))
    assert max(counts.values(), default=0) <= 1 + ordered
    assert right(side, np.array(y)).all()


def test_a_sparse_draw_without_replacement_is_uniform():
    draws = [
        sample_pairs(range(8), 3, replace=False, random_state=seed).statements
        for seed in range(2000)
    ]
    counts = Counter((i, j) for said in draws for i, j in zip(said.i, said.j, strict=True))
    assert len(counts) == 28
    assert all(close(count, 2000, 3 / 28) for count in counts.values())


@pytest.mark.parametrize(
    ("share", "rounding", "count"),
    [
        (0.1, "ceil", 7),
        (0.1, "floor", 7),
        (0.15, "ceil", 11),
        (0.15, "floor", 10),
        (0.15, "round", 10),
    ],
)
def test_shares_are_rounded_as_they_are_written(share, rounding, count):
    # 0.1 * 70 is 7.000000000000001 in floats, which rounds up to 8
    y = np.repeat([0, 1], 35)
    assert sample_pairs(y, share, rounding=rounding, random_state=0).n_statements == count
    assert sample_labels(y, share, rounding=rounding, random_state=0).n_statements == count


# Labels


def test_plsi_a_share_of_the_rows_not_stratified():
    seen = np.zeros(100)
    per_class = []
    for seed in range(300):
        side = sample_labels(Y, 0.1, random_state=seed)
        rows = side.statements.i
        assert len(set(rows.tolist())) == side.n_statements == 10
        assert right(side, Y).all()
        seen[rows] += 1
        per_class.append(np.count_nonzero(Y[rows] == 0))
    assert all(close(count, 300, 0.1) for count in seen)
    assert len(set(per_class)) > 3


def test_plsi_noise_is_a_share_of_labels_drawn_from_all_classes():
    y = np.arange(20_000) % 4
    side = sample_labels(y, 0.5, accuracy=0.6, exact=True, wrong_label="any", random_state=0)
    # 4000 of 10 000 are drawn anew, a quarter of which is right again
    assert side.n_statements == 10_000
    assert close((~right(side, y)).sum(), 4_000, 0.75)


def test_comac_noise_is_an_exact_share_of_incorrect_labels():
    for accuracy, wrong in ((1.0, 0), (0.9, 3), (0.5, 15), (0.0, 30)):
        side = sample_labels(Y, 0.3, rounding="ceil", accuracy=accuracy, exact=True, random_state=0)
        assert side.n_statements == 30
        assert (~right(side, Y)).sum() == wrong
    y = np.arange(9_000) % 3
    side = sample_labels(y, 1.0, accuracy=0.0, random_state=0)
    shift = (np.array(side.classes)[side.statements.class_code] - y[side.statements.i]) % 3
    assert close((shift == 1).sum(), 9_000, 0.5)
    assert (shift > 0).all()


def test_comac_two_classes_that_hold_enough_rows():
    y = np.repeat(["a", "b", "c", "d"], [60, 25, 10, 5])
    pairs = Counter()
    for seed in range(200):
        side = sample_labels(y, 10, classes=2, min_share=0.3, random_state=seed)
        assert side.n_statements == 10
        assert len(side.classes) <= 2
        if len(side.classes) == 2:
            pairs[side.classes] += 1
    # b with c (35 %) and b with d (30 %) hold enough, c with d does not
    assert set(pairs) == {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")}
    with pytest.raises(SideInformationError, match=r"no 1 classes hold 90%"):
        sample_labels(y, 10, classes=1, min_share=0.9)


def test_ss_dpgmm_example_with_numbers_for_each_class():
    clusters = np.repeat(["bottom", "left", "right", "top"], 100)
    merged = np.where(np.isin(clusters, ["left", "right"]), "middle", clusters)
    side = sample_labels(merged, {"bottom": 0.05, "top": 0.05, "middle": 0.1}, random_state=0)
    given = Counter(np.array(side.classes)[side.statements.class_code].tolist())
    assert given == {"bottom": 5, "top": 5, "middle": 20}
    assert set(clusters[side.statements.i]) == {"bottom", "left", "right", "top"}
    assert right(side, merged).all()


def test_sse_labels_and_negative_labels():
    y = np.arange(1000) % 5
    side = sample_labels(y, 0.1, n_negative=0.1, promote=True, rounding="floor", random_state=0)
    said = side.statements
    labelled = set(said.i[said.kind == LABEL].tolist())
    negative = said.kind == NOT_LABEL
    assert (len(labelled), negative.sum()) == (100, 100)
    assert not labelled & set(said.i[negative].tolist())
    cells = set(zip(said.i[negative].tolist(), said.class_code[negative].tolist(), strict=True))
    assert len(cells) == 100
    assert right(side, y).all()


def test_a_row_with_all_classes_but_one_excluded_becomes_labelled():
    y = np.array(["a", "b", "c"] * 4)
    side = sample_labels(y, 3, n_negative=18, promote=True, random_state=0)  # all cells of 9 rows
    assert side.labels.tolist() == [0, 1, 2] * 4
    assert (side.statements.kind == LABEL).all()
    assert side.n_statements == 12
    side = sample_labels(y, 3, n_negative=17, promote=True, random_state=0)
    assert np.bincount(side.statements.kind, minlength=5).tolist() == [0, 0, 0, 11, 1]
    stated = sample_labels(y, 3, n_negative=18, random_state=0)
    assert np.bincount(stated.statements.kind, minlength=5).tolist() == [0, 0, 0, 3, 18]
    two = sample_labels([0, 1, 0, 1], 0, n_negative=2, promote=True, random_state=0)
    assert two.n_statements == 2
    assert right(two, np.array([0, 1, 0, 1])).all()


def test_a_promoted_label_keeps_its_annotator_only_if_there_is_one():
    y = np.arange(300) % 3
    one = sample_labels(y, 0, n_negative=600, promote=True, annotators="ann", random_state=0)
    assert one.annotators == ("ann",)
    assert (one.statements.annotator == 0).all()
    two = sample_labels(
        y, 0, n_negative=600, promote=True, annotators=["ann", "bob"], random_state=0
    )
    assert set(two.statements.annotator.tolist()) == {-1, 0, 1}
    assert close((two.statements.annotator == -1).sum(), 300, 0.5)


def test_a_wrong_negative_label_excludes_the_own_class():
    side = sample_labels(Y, 0, n_negative=60, accuracy=0.0, random_state=0)
    classes = np.array(side.classes)[side.statements.class_code]
    assert (classes == Y[side.statements.i]).all()


# People


def test_annotators_have_their_own_accuracy():
    people = {"ann": 0.95, "bob": 0.6}
    y = np.arange(40_000) % 4
    for side in (
        sample_pairs(y, 20_000, annotators=people, random_state=0),
        sample_labels(y, 20_000, annotators=people, random_state=0),
    ):
        good = right(side, y)
        for code, name in enumerate(side.annotators):
            own = side.statements.annotator == code
            assert close(own.sum(), 20_000, 0.5)
            assert close(good[own].sum(), own.sum(), people[name])


def test_annotators_have_their_own_number_of_statements():
    quota = {"bob": 30, "ann": 12}
    for side in (
        sample_pairs(Y, quota=quota, annotators={"ann": 1.0, "bob": 0.5}, exact=True),
        sample_labels(Y, quota=quota, annotators={"ann": 1.0, "bob": 0.5}, exact=True),
        sample_pairs(
            Y, n_must=21, n_cannot=21, quota=quota, annotators={"ann": 1, "bob": 0.5}, exact=True
        ),
    ):
        assert side.annotators == ("ann", "bob")
        assert np.bincount(side.statements.annotator).tolist() == [12, 30]
        assert np.bincount(side.statements.annotator[~right(side, Y)]).tolist() == [0, 15]
    assert sample_labels(Y, quota=quota).n_statements == 42


def test_one_annotator_is_a_name():
    side = sample_pairs(Y, 10, annotators="ann", accuracy=0.0, random_state=0)
    assert side.annotators == ("ann",)
    assert not right(side, Y).any()


# Truth, seeds, errors


@pytest.mark.parametrize(
    "y",
    [
        ["cat", None, "dog", "cat", "dog", float("nan")],
        [0, -1, 1, 0, 1, -1],
        np.array([0.0, -1.0, 1.0, 0.0, 1.0, np.nan]),
        [True, None, False, True, False, -1],
    ],
)
def test_rows_of_unknown_class_are_never_drawn(y):
    pairs = sample_pairs(y, 200, random_state=0)
    labels = sample_labels(y, 1.0, random_state=0)
    assert pairs.n_samples == labels.n_samples == 6
    assert set(pairs.statements.i.tolist()) | set(pairs.statements.j.tolist()) == {0, 2, 3, 4}
    assert sorted(labels.statements.i.tolist()) == [0, 2, 3, 4]
    assert set(map(type, labels.classes)) == {type(labels.classes[0])}


def test_class_names_survive_with_their_types():
    assert set(map(repr, sample_labels([3, "3", True, 2.5], 4).classes)) == {
        "3",
        "'3'",
        "True",
        "2.5",
    }
    assert sample_labels(["b", "a"], {"a": 1}).classes == ("a",)


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: sample_pairs(Y, 50, accuracy=0.7, annotators=["a", "b"], random_state=seed),
        lambda seed: sample_labels(Y, 50, n_negative=20, accuracy=0.7, random_state=seed),
    ],
)
def test_the_seed_decides(draw):
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)
    assert draw(np.random.default_rng(7)) == draw(np.random.default_rng(7))
    assert draw(np.random.RandomState(7)) == draw(np.random.RandomState(7))
    generator, other = np.random.default_rng(3), np.random.default_rng(3)
    draw(generator)
    other.integers(2**63)
    assert generator.integers(2**63) == other.integers(2**63)  # one integer was drawn
    assert draw(generator) != draw(generator)


def test_nothing_can_be_asked_of_nothing():
    assert sample_pairs([], 0).n_samples == 0
    assert sample_labels([-1, -1], 0) == SideInformation.empty(2)
    assert sample_pairs([0], 0, n_must=None).n_statements == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sample_pairs([0, 0], n_cannot=1), r"n_cannot asks for 1 pairs of two classes.* 0"),
        (lambda: sample_pairs([0, 1], n_must=1), r"n_must asks for 1 pairs of one class.* 0"),
        (lambda: sample_pairs([0], 1), r"n_pairs asks for 1 pairs"),
        (lambda: sample_pairs([-1, -1], 1), r"y has 0"),
        (lambda: sample_pairs([0, 1]), r"how many pairs"),
        (lambda: sample_pairs([0, 1], 1, n_must=1), r"not both"),
        (lambda: sample_pairs([0, 1], -1), r"n_pairs is -1"),
        (lambda: sample_pairs([0, 1], float("nan")), r"n_pairs is nan"),
        (lambda: sample_pairs([0, 1], True), r"n_pairs is True"),
        (lambda: sample_pairs([0, 1], 1, accuracy=1.5), r"accuracy is 1.5"),
        (lambda: sample_pairs([0, 1], 1, rounding="up"), r"round, ceil, floor"),
        (lambda: sample_pairs([0, 1], 1, self_pairs="raise"), r"self_pairs"),
        (lambda: sample_pairs([0, 1], 1, annotators=[]), r"at least one"),
        (lambda: sample_pairs([0, 1], 1, annotators=["a", "a"]), r"each once"),
        (lambda: sample_pairs([0, 1], 1, annotators={"a": 2}), r"accuracy of 'a' is 2"),
        (lambda: sample_pairs([0, 1], 1, annotators={"a": 1}, accuracy=0.5), r"leave accuracy="),
        (lambda: sample_pairs([0, 1], 2, quota={"a": 1}), r"gives 1 statements and 2"),
        (lambda: sample_pairs([0, 1], 1, annotators="a", quota={"b": 1}), r"quota names 'b'"),
        (lambda: sample_pairs(np.zeros((1, 2)), 1), r"shape \(1, 2\)"),
        (lambda: sample_labels([0, 1]), r"how many labels"),
        (lambda: sample_labels([0, -1], 2), r"n_labels asks for 2 rows.* 1 of them"),
        (lambda: sample_labels([0, 1], 1.5), r"n_labels asks for 3 rows"),
        (lambda: sample_labels([0, 1], {0: 2}), r"n_labels of 0 asks for 2"),
        (lambda: sample_labels([0, 1], {"0": 1}), r"names '0'; the classes of y are 0, 1"),
        (lambda: sample_labels([0, 1], {0: 1}, classes=[0]), r"leave classes= out"),
        (lambda: sample_labels([0, 1], 1, classes=[7]), r"names 7"),
        (lambda: sample_labels([0, 1], 1, classes="0"), r"a list of classes"),
        (lambda: sample_labels([0, 1], 1, classes=3), r"3 of 2 classes"),
        (lambda: sample_labels([0, 1], 1, min_share=0.3), r"min_share goes with"),
        (lambda: sample_labels([0, 1], 1, n_negative=2), r"n_negative asks for 2 wrong classes"),
        (lambda: sample_labels([0, 0], 1, accuracy=0.0), r"one class only"),
        (lambda: sample_labels([0, 1], 1, wrong_label="no"), r"wrong_label"),
    ],
)
def test_impossible_requests_are_refused(call, message):
    with pytest.raises(SideInformationError, match=message):
        call()


@pytest.mark.parametrize("random_state", [1.5, "x", -1])
def test_what_is_no_seed_is_refused(random_state):
    with pytest.raises(SidelightError, match="random_state is .*a whole number, 0 or more"):
        sample_labels(["a", "b"], 1, random_state=random_state)


def test_a_number_of_classes_is_whole():
    with pytest.raises(SideInformationError, match=r"a list of classes or a number, not 2\.0"):
        sample_labels(["a", "b"], 1, classes=2.0, random_state=0)
