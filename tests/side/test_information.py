import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sidelight import SideInformation
from sidelight.exceptions import SideInformationError
from sidelight.side import KINDS, match_classes
from strategies import sides


def test_a_small_example_reads_as_documented():
    labels = SideInformation.from_labels(["hernia", None, None, "normal", None])
    side = labels + SideInformation.from_pairs(must=[(0, 1)], cannot=[(4, 1)], n_samples=5)
    assert repr(side) == "SideInformation(5 rows; 1 must, 1 cannot, 2 label; 2 classes)"
    assert side.shape == (5,)
    assert len(side) == 5
    assert side.n_statements == 4
    assert side.cannot.tolist() == [[1, 4]]
    assert side.to_labels(unknown="?").tolist() == ["hernia", "?", "?", "normal", "?"]


@pytest.mark.parametrize(
    "y",
    [
        [0, -1, 1],
        np.array([0, -1, 1], dtype=np.int32),
        [0, None, 1],
        np.array([0.0, np.nan, 1.0]),
        np.array([0.0, -1.0, 1.0]),
        pd.Series([0, pd.NA, 1], dtype="Int64"),
        pd.Series([0, None, 1], dtype="float64"),
        [np.int64(0), float("nan"), np.int64(1)],
    ],
)
def test_every_way_to_write_an_unknown_label_is_understood(y):
    side = SideInformation.from_labels(y)
    assert side.classes == (0, 1)
    assert all(type(name) is int for name in side.classes)
    assert side.labels.tolist() == [0, -1, 1]
    assert side.to_labels().tolist() == [0, -1, 1]


def test_class_names_keep_their_types():
    side = SideInformation.from_labels([3, "3", True, 3.0, None])
    assert [(type(name), name) for name in side.classes] == [
        (bool, True),
        (float, 3.0),
        (int, 3),
        (str, "3"),
    ]
    assert len(set(side.labels[:4])) == 4


def test_floats_too_large_for_whole_numbers_stay_what_they_are():
    assert SideInformation.from_labels(np.array([1e19, 1.0])).classes == (1.0, 1e19)


@pytest.mark.parametrize("gap", [None, np.nan])
def test_variable_width_strings_of_numpy_are_names_and_gaps(gap):
    y = np.array(["b", gap, "a"], dtype=np.dtypes.StringDType(na_object=gap))
    assert SideInformation.from_labels(y).to_labels(unknown=None).tolist() == ["b", None, "a"]


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT, -1])
def test_every_way_to_leave_a_partner_out_is_understood(gap):
    side = SideInformation.from_columns(["must", "unsure"], [0, 1], [1, gap], n_samples=2)
    assert side.statements.j.tolist() == [1, -1]


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_one_missing_name_for_all_statements_is_no_name(gap):
    side = SideInformation.from_columns("must", [0], [1], annotator=gap, n_samples=2)
    assert side.annotators == ()


def test_categories_of_a_data_frame_are_class_names():
    y = pd.Categorical(["b", None, "a"])
    assert SideInformation.from_labels(y).to_labels(unknown=None).tolist() == ["b", None, "a"]


@pytest.mark.parametrize(
    "y",
    [
        ["a", "", "b", " \t"],
        np.array(["a", "", "b", "  "]),
        ["a", None, "b", ""],
        np.array(["a", float("nan"), "b", " "], dtype=object),
        pd.Series(["a", pd.NA, "b", ""], dtype="string"),
    ],
)
def test_a_text_of_blanks_is_an_unknown_label(y):
    side = SideInformation.from_labels(y)
    assert side.classes == ("a", "b")
    assert side.labels.tolist() == [0, -1, 1, -1]


@pytest.mark.parametrize(
    ("classes", "unknown"),
    [([0, 1], "?"), ([0, 1], None), ([2**63, 1], -1), ([2**70, 1], -1), (["a", "b"], 0), ([], "?")],
)
def test_names_of_classes_keep_their_types_beside_any_unknown(classes, unknown):
    labels = SideInformation.from_labels([*classes, None]).to_labels(unknown=unknown)
    assert list(map(repr, labels.tolist())) == list(map(repr, [*classes, unknown]))


def test_disagreeing_labels_are_settled_by_weight_then_by_the_first_class():
    side = SideInformation.from_columns(
        "label",
        [0, 0, 0, 1, 1],
        class_=["b", "a", "b", "b", "a"],
        weight=[1, 1.5, 1, 1, 1],
        n_samples=3,
    )
    assert side.to_labels(unknown="").tolist() == ["b", "a", ""]


@given(st.permutations(range(6)))
def test_rounding_does_not_let_the_order_of_votes_decide(order):
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 are two numbers to a computer, and one to a person.
    class_, weight = list("aaabbb"), [0.1, 0.2, 0.3, 0.3, 0.2, 0.1]
    side = SideInformation.from_columns(
        "label",
        [0] * 6,
        class_=[class_[k] for k in order],
        weight=[weight[k] for k in order],
        n_samples=1,
    )
    assert side.to_labels().tolist() == ["a"]
    assert {side.classes[side.statements.class_code[k]] for k in side.conflicts().broken} == {"b"}


def test_labels_of_several_vocabularies_are_not_mixed_up():
    ann = SideInformation.from_labels(["x", None], vocabulary="ann")
    bob = SideInformation.from_labels([None, "x"], vocabulary="bob")
    both = ann + bob
    assert both.groups().tolist() == [0, 1]
    with pytest.raises(SideInformationError, match="several vocabularies"):
        _ = both.labels
    assert both.only(vocabulary="bob").labels.tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: s.from_pairs(must=[(0, 9), (2, 1), (1, -1)], n_samples=3), "2 statements"),
        (lambda s: s.from_pairs(must=[(0, 9)], n_samples=3), r"outside 0 … 2.*must 0 9"),
        (lambda s: s.from_pairs(must=[("a", "x")], index=["a", "b"]), "not in the index.*must a x"),
        (lambda s: s.from_pairs(must=[("a", None)], index=["a", "b"]), "only one row.*must a None"),
        (lambda s: s.from_pairs(cannot=[(1, 1)], n_samples=3), "paired with itself.*cannot 1 1"),
        (lambda s: s.from_pairs(must=[(0, 1)], n_samples=3, weight=np.nan), "NaN.*weight nan"),
        (lambda s: s.from_pairs(must=[(0, 1)], n_samples=3, weight=np.inf), "infinite"),
        (lambda s: s.from_pairs(must=[(0, 1)], n_samples=3, weight=-1), "negative"),
        (lambda s: s.from_pairs(must=[(0, 1)], n_samples=3, weight="heavy"), "numbers"),
        (lambda s: s.from_pairs(must=[(0, 1)], n_samples=3, weight=1j), "numbers"),
        (lambda s: s.from_pairs(must=[(0, 1)], n_samples=3, weight=[1, 2]), "shape"),
        (lambda s: s.from_pairs(must=[(0, 1, 2)], n_samples=3), "list of pairs"),
        (
            lambda s: s.from_pairs(must=(0, 1), n_samples=3),
            r"must is \(0, 1\); give a list of pairs",
        ),
        (lambda s: s.from_pairs(must=np.array([0, 1]), n_samples=3), "list of pairs"),
        (lambda s: s.from_pairs(must=["ab"], index=["a", "b"]), "list of pairs"),
        (lambda s: s.from_pairs(must=[(0, 2**70)], n_samples=3), "outside 0 … 2"),
        (lambda s: s.from_pairs(must=[(0, 1e300)], n_samples=3), "outside 0 … 2"),
        (lambda s: s.from_pairs(must=[("0", "1")], n_samples=3), "not by '0'.*give index="),
        (lambda s: s.from_pairs(must=[(True, 0)], n_samples=3), "not by True"),
        (lambda s: s.from_pairs(must=[(True, 2)], index=[1, 2]), "not in the index.*must True 2"),
        (lambda s: s.from_pairs(must=[([1], "a")], index=["a", "b"]), "not in the index"),
        (lambda s: s.from_pairs(must=[(0, 0.5)], n_samples=3), "not whole numbers"),
        (lambda s: s.from_pairs(must=[("a", "b")], n_samples=3), "give index="),
        (lambda s: s.from_pairs(must=[(0, 1)]), "n_samples="),
        (lambda s: s.from_labels([0, 1, 7], classes=[0, 1]), "outside classes=.*label 2 is 7"),
        (lambda s: s.from_labels(["3"], classes=[3]), "outside classes="),
        (lambda s: s.from_labels(np.array([[0, 1]])), "one label per row"),
        (lambda s: s.from_labels([float("inf")]), "finite"),
        (lambda s: s.from_labels(np.array([np.inf, 1])), "finite"),
        (lambda s: s.from_labels([("a", "b"), None]), "names are text"),
        (lambda s: s.from_labels([["a"], None]), "not names"),
        (lambda s: s.from_labels([0, 1], index=["a", "a"]), "unique"),
        (lambda s: s.from_labels([0, 1], index=["a"]), "1 ids for 2 rows"),
        (lambda s: s.from_labels([0, 1, 2], weight=[1, 2]), "2 entries for 3 rows"),
        (lambda s: s.from_labels([0, 1, -1], weight=[1, 2]), "2 entries for 3 rows"),
        (lambda s: s.from_labels([0, 1], weight=[1, 2, 3]), "3 entries for 2 rows"),
        (lambda s: s.from_labels([0, 1], classes=2), "classes is 2; give a list"),
        (lambda s: s.empty(1, index=[2**63]), "64 bits"),
        (lambda s: s.empty(2, index=[True, False]), "all texts or all whole numbers"),
        (lambda s: s.empty(True), "not True"),
        (lambda s: s.from_labels([0, 1], index=["a", 1]), "all texts or all whole numbers"),
        (lambda s: s.from_columns(["must", "lable"], [0, 1], [1, 0], n_samples=2), "'lable'"),
        (lambda s: s.from_columns("label", [0], n_samples=2), "no class"),
        (lambda s: s.from_columns("must", [0], n_samples=2), "only one row"),
        (lambda s: s.from_columns("must", [0, 1], [1], n_samples=2), "go together"),
        (lambda s: s.from_columns("must", 0, 1, n_samples=2), r"shape \(\).*go together"),
        (lambda s: s.from_columns("must", [[0]], [[1]], n_samples=2), "not by"),
        (lambda s: s.from_columns("must", np.eye(2), np.eye(2), n_samples=2), "lists of rows"),
        (lambda s: s.from_graphs(must=np.eye(3)), "paired with itself"),
        (lambda s: s.from_graphs(must=np.ones((2, 3))), "square"),
        (lambda s: s.from_graphs(must=[[0, 1], [2, 0]]), "not symmetric"),
        (lambda s: s.from_graphs(must=np.array([0, 1])), "square"),
        (
            lambda s: s.from_graphs(must=np.array([["a", "b"], ["b", "a"]])),
            "not a matrix of numbers",
        ),
        (lambda s: s.from_graphs(), "at least one"),
        (lambda s: s.from_graphs(must=[[0, -1], [-1, 0]]), "negative"),
    ],
)
def test_bad_input_is_named_with_what_came_and_what_to_do(make, message):
    with pytest.raises(SideInformationError, match=message):
        make(SideInformation)


def test_an_error_names_five_statements_and_counts_the_rest():
    pairs = [(0, 100 + k) for k in range(12)]
    with pytest.raises(SideInformationError, match="12 statements") as caught:
        SideInformation.from_pairs(must=pairs, n_samples=50)
    assert "must 0 104" in str(caught.value)
    assert "must 0 105" not in str(caught.value)
    assert "7 more" in str(caught.value)


def test_self_pairs_are_refused_dropped_or_kept_as_asked():
    pairs = [(0, 1), (1, 1)]
    assert SideInformation.from_pairs(pairs, n_samples=2, self_pairs="drop").must.tolist() == [
        [0, 1]
    ]
    kept = SideInformation.from_pairs(pairs, n_samples=2, self_pairs="keep")
    assert kept.must.tolist() == [[0, 1], [1, 1]]
    assert kept.graphs()[0].toarray().tolist() == [[0, 1], [1, 2]]
    assert SideInformation.from_graphs(kept.graphs()[0], self_pairs="keep") == kept


def test_graphs_go_out_and_come_back_with_repeated_pairs_added_up():
    side = SideInformation.from_pairs(
        must=[(0, 1), (1, 0)], cannot=[(2, 1)], weight=[1, 2, 0.5], n_samples=4
    )
    must, cannot = side.graphs()
    assert must.toarray()[0, 1] == must.toarray()[1, 0] == 3
    assert cannot[1, 2] == 0.5
    back = SideInformation.from_graphs(must, cannot)
    assert back == SideInformation.from_pairs([(0, 1)], [(1, 2)], weight=[3, 0.5], n_samples=4)
    assert SideInformation.from_graphs(sparse.tril(must), sparse.triu(cannot)) == back


def test_a_graph_with_stored_zeros_is_read_and_left_as_it_is():
    rows, columns = np.array([0, 0, 1, 2]), np.array([1, 2, 0, 0])
    graph = sparse.csr_array((np.array([1.0, 0, 1, 0]), (rows, columns)), shape=(3, 3))
    before = graph.copy()
    assert SideInformation.from_graphs(graph).must.tolist() == [[0, 1]]
    assert graph.nnz == 4
    assert graph.indptr.tolist() == before.indptr.tolist()


@pytest.mark.parametrize(
    "pairs",
    [
        np.array([[0, 1], [1, 2]], dtype=np.int8),
        pd.DataFrame({"from": [0, 1], "to": [1, 2]}),
        pl.DataFrame({"from": [0, 1], "to": [1, 2]}),
        zip([0, 1], [1, 2], strict=True),
        ((0, 1), (1, 2)),
        [np.array([0, 1]), [1.0, 2]],
    ],
)
def test_pairs_come_in_every_shape(pairs):
    assert SideInformation.from_pairs(pairs, n_samples=3).must.tolist() == [[0, 1], [1, 2]]


def test_annotators_kinds_and_vocabularies_can_be_chosen():
    ann = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=3, annotator="ann")
    side = ann + SideInformation.from_labels([0, -1, 1])
    assert side.only(annotator="ann") == ann
    assert side.only(annotator=[None]).n_statements == 2
    assert side.only(kind=["must", "cannot"]) == ann
    assert side.only(kind="label", annotator="ann").n_statements == 0
    with pytest.raises(SideInformationError, match="known: 'ann'"):
        side.only(annotator="bob")
    with pytest.raises(SideInformationError, match="'mst'"):
        side.only(kind="mst")


def test_names_are_chosen_by_their_type_and_from_any_collection():
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], annotator=[True, 1], n_samples=3)
    assert side.only(annotator=1).must.tolist() == [[1, 2]]
    assert side.only(annotator=np.True_).must.tolist() == [[0, 1]]
    named = SideInformation.from_pairs(must=[(0, 1), (1, 2)], annotator=["a", "b"], n_samples=3)
    for wanted in (pd.Series(["b"]), np.array(["b"]), {"b": 0}.keys(), (name for name in "b")):
        assert named.only(annotator=wanted).must.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "index",
    [
        np.array([7, 9], dtype=np.uint16),
        list(np.array([7, 9])),
        pd.Index([7, 9]),
        pd.array([7, 9], dtype="Int64"),
        pl.Series([7, 9]),
    ],
)
def test_equal_ids_are_equal_whatever_array_they_came_in(index):
    assert SideInformation.empty(2, index=index) == SideInformation.empty(2, index=[7, 9])


def test_ids_may_be_numpy_texts_and_no_ids_have_no_type():
    texts = SideInformation.empty(2, index=["x", "y"])
    assert SideInformation.empty(2, index=list(np.array(["x", "y"]))) == texts
    assert SideInformation.empty(2, index=np.array(["x", "y"], dtype="T")) == texts
    nothing = SideInformation.empty(0, index=np.array([]))
    assert texts[[]] == nothing == SideInformation.empty(2, index=[7, 9])[[]]


@pytest.mark.parametrize("gap", [None, pd.NA])
def test_a_missing_weight_is_one_and_a_nan_is_refused(gap):
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], weight=[gap, 2], n_samples=3)
    assert side.statements.weight.tolist() == [1, 2]
    with pytest.raises(SideInformationError, match="NaN"):
        SideInformation.from_pairs(must=[(0, 1), (1, 2)], weight=[np.nan, 2], n_samples=3)


def test_classes_may_come_in_the_array_type_of_the_labels():
    y = np.array([0.0, np.nan, 1.0])
    assert SideInformation.from_labels(y, classes=np.array([0.0, 1.0])).classes == (0, 1)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_slicing_takes_whole_numbers_of_every_width(dtype):
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 69_999)], n_samples=70_000)
    assert side[np.array([1, 0], dtype=dtype)].must.tolist() == [[0, 1]]
    if dtype[0] == "i":
        assert side[np.array([1, -1], dtype=dtype)].cannot.tolist() == [[0, 1]]


def test_slicing_keeps_the_statements_whose_rows_all_survive():
    side = SideInformation.from_pairs(
        must=[("a", "b"), ("b", "c")], cannot=[("d", "a")], index=list("abcd")
    )
    part = side[[3, 1, 0]]
    assert part.index.tolist() == ["d", "b", "a"]
    assert part.must.tolist() == [[1, 2]]
    assert part.cannot.tolist() == [[0, 2]]
    mask = np.array([True, True, False, True])
    assert side[mask] == side[:][[0, 1, 3]] == side[([0, 1, 3], ...)]
    assert side[-2:].n_statements == 0
    assert side[[]].n_samples == 0


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([0, 0], SideInformationError, "more than once"),
        ([5], IndexError, "outside 0 … 2"),
        (1, SideInformationError, r"side\[\[1\]\]"),
        ([True], SideInformationError, "mask"),
        ([0.5], SideInformationError, "whole numbers"),
    ],
)
def test_slicing_by_something_else_is_refused(rows, error, message):
    with pytest.raises(error, match=message):
        SideInformation.empty(3)[rows]


def test_statements_about_other_rows_cannot_be_joined():
    side = SideInformation.empty(3)
    with pytest.raises(SideInformationError, match="3 rows.*4 rows"):
        side + SideInformation.empty(4)
    with pytest.raises(SideInformationError, match="different row ids"):
        SideInformation.empty(2, index=["a", "b"]) + SideInformation.empty(2, index=["b", "a"])
    assert (side + SideInformation.empty(3, index=[7, 8, 9])).index.tolist() == [7, 8, 9]


def test_the_table_cannot_be_changed():
    side = SideInformation.from_labels([0, 1])
    with pytest.raises(ValueError, match="read-only"):
        side.statements.weight[0] = 5
    with pytest.raises(AttributeError):
        side.n_samples = 7
    with pytest.raises(TypeError):
        hash(side)


def test_unsure_binds_nothing_and_is_kept():
    side = SideInformation.from_columns(["unsure", "unsure"], [0, 2], [1, None], n_samples=3)
    assert side.n_statements == 2
    assert side.groups().tolist() == [0, 1, 2]
    assert not side.violated([0, 1, 0]).any()
    assert side.describe(1) == "2 is anybody's guess (unsure)"


def test_violated_compares_a_partition_with_every_kind():
    side = SideInformation.from_columns(
        [*KINDS, "must", "label"],
        [0, 0, 0, 0, 1, 2, 3],
        [1, 1, 1, None, None, 3, None],
        class_=[None, None, None, "a", "b", None, "b"],
        n_samples=4,
    )
    #   must 0 1, cannot 0 1, unsure 0 1, 0 is a, 1 is not b, must 2 3, 3 is b
    assert side.violated([0, 0, 1, 1]).tolist() == [False, True, False, False, False, False, False]
    assert side.violated([0, 1, 1, 1]).tolist() == [True, False, False, False, True, False, False]
    assert side.violated([0, 0, 0, 0]).tolist() == [False, True, False, False, False, False, True]
    assert side.violated([0, -1, -1, -1]).tolist() == [True, False, False, False, False, True, True]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float64, np.bool_, np.uint64])
def test_cluster_numbers_may_be_of_any_type(dtype):
    side = SideInformation.from_labels(["a", "b", "b"])
    side += SideInformation.from_pairs(must=[(0, 2)], n_samples=3)
    broken = side.violated(np.array([0, 1, 0], dtype=dtype))
    assert broken.tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    ("labels", "message"),
    [([0, 1], "about 3 rows"), ([0, 1, np.nan], "whole numbers"), (list("abc"), "whole numbers")],
)
def test_what_is_no_partition_is_refused(labels, message):
    side = SideInformation.from_labels(["a", None, None])
    with pytest.raises(SideInformationError, match=message):
        side.violated(labels)
    with pytest.raises(SideInformationError, match=message):
        match_classes(side, labels, 2)


def test_a_cluster_beyond_their_number_is_refused():
    with pytest.raises(SideInformationError, match=r"cluster 5.*0 … 1"):
        match_classes(SideInformation.from_labels([0, 1]), [0, 5], 2)


@given(sides(with_index=True), st.randoms(use_true_random=False))
def test_the_order_of_statements_does_not_matter(side, random):
    order = list(range(side.n_statements))
    random.shuffle(order)
    said = side.statements.take(np.array(order, dtype=int))
    shuffled = side._with(said, n_samples=side.n_samples, index=side.index)
    assert shuffled == side
    assert np.array_equal(shuffled.groups(), side.groups())
    assert shuffled.closure() == side.closure()
    broken, same = (
        s._choose(np.isin(np.arange(s.n_statements), s.conflicts(limit=0).broken))
        for s in (side, shuffled)
    )
    assert broken == same


@given(sides(min_rows=4, max_rows=4), sides(min_rows=4, max_rows=4), sides(min_rows=4, max_rows=4))
def test_joining_is_commutative_and_associative(a, b, c):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + SideInformation.empty(4) == a


@given(sides(with_index=True), st.data())
def test_slices_of_slices_are_slices(side, data):
    rows = data.draw(st.lists(st.integers(0, side.n_samples - 1), unique=True))
    part = side[rows]
    again = data.draw(st.lists(st.integers(0, len(rows) - 1), unique=True)) if rows else []
    assert part[again] == side[[rows[k] for k in again]]
    assert side[np.arange(side.n_samples)] == side


@given(sides(with_index=True), st.data())
def test_slices_of_few_rows_among_many_are_those_among_few(side, data):
    rows = data.draw(st.lists(st.integers(0, side.n_samples - 1), unique=True))
    apart = 10**12  # more rows than fit into any list
    far = side._with(
        side.statements._replace(
            i=side.statements.i * apart,
            j=np.where(side.statements.j < 0, -1, side.statements.j * apart),
        ),
        n_samples=side.n_samples * apart,
        index=None,
    )
    few, many = side[rows], far[np.array(rows, dtype=np.int64) * apart]
    for here, there in zip(few.statements, many.statements, strict=True):
        assert np.array_equal(here, there)
    assert many.n_samples == len(rows)
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, side.n_samples)] * 2)))
    assert far[start:stop].n_samples == stop - start


@given(sides(with_index=True))
def test_pickling_and_copying_keep_everything(side):
    side.closure()
    for twin in (pickle.loads(pickle.dumps(side)), copy.deepcopy(side), copy.copy(side)):
        assert twin == side
        assert not twin.statements.kind.flags.writeable


@given(sides())
def test_equality_sees_every_column(side):
    for k in range(side.n_statements):
        others = np.delete(np.arange(side.n_statements), k)
        assert side._choose(np.isin(np.arange(side.n_statements), others)) != side
    heavier = side.statements._replace(weight=side.statements.weight + 1)
    changed = side._with(heavier, n_samples=side.n_samples, index=None)
    assert (changed == side) == (side.n_statements == 0)


def test_scikit_learn_cuts_side_information_with_its_rows():
    from sklearn.utils import _safe_indexing

    side = SideInformation.from_pairs(must=[(0, 1), (2, 3)], n_samples=4)
    assert _safe_indexing(side, np.array([2, 3])).must.tolist() == [[0, 1]]
