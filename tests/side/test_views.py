"""Views of statements for models: sorted, once each, class columns, signed graph, rows."""

import numpy as np
import pytest
from hypothesis import given

from sidelight import SideInformation
from strategies import sides


def _shuffled(side):
    order = np.random.default_rng(0).permutation(side.n_statements)
    said = side.statements.take(order)
    return side._with(said, n_samples=side.n_samples, index=side.index)


@given(sides())
def test_the_canonical_statements_are_those_that_bind(side):
    assert side.canonical.same_as(side.statements.take(side.statements.binding))


@given(sides())
def test_the_order_of_statements_changes_no_bit_of_a_view(side):
    other = _shuffled(side)
    for first, second in zip(side.canonical.columns, other.canonical.columns, strict=True):
        assert np.array_equal(first, second)
    for name in ("kind", "i", "j", "class_code", "vocabulary", "weight"):
        assert np.array_equal(getattr(side.once, name), getattr(other.once, name))
    assert side.class_columns.names == other.class_columns.names
    assert (side.signed_graph != other.signed_graph).nnz == 0
    assert side.leading_vocabulary == other.leading_vocabulary
    assert np.array_equal(side.leading_labels, other.leading_labels)


@given(sides())
def test_a_repeated_statement_is_there_once_with_its_largest_weight(side):
    heaviest = {}
    said = side.statements
    for k in np.flatnonzero(said.binding):
        about = (said.kind[k], said.i[k], said.j[k], said.vocabulary[k], said.class_code[k])
        heaviest[about] = max(heaviest.get(about, 0.0), said.weight[k])
    once = side.once
    content = (once.kind, once.i, once.j, once.vocabulary, once.class_code)
    assert dict(zip(zip(*content, strict=True), once.weight, strict=True)) == heaviest
    assert len(once.kind) == len(heaviest)


def test_a_row_paired_with_itself_is_not_among_the_statements_that_count_once():
    side = SideInformation.from_pairs(must=[(1, 1), (0, 1)], n_samples=2, self_pairs="keep")
    assert side.once.i.tolist() == [0]
    assert side.canonical.i.tolist() == [0, 1]


@given(sides())
def test_a_class_has_a_column_in_every_vocabulary_that_binds_it(side):
    said, columns = side.statements, side.class_columns
    column = columns.find(said.vocabulary, said.class_code)
    bound = {
        (int(v), int(c))
        for v, c in zip(side.canonical.vocabulary, side.canonical.class_code, strict=True)
        if c >= 0
    }
    assert len(columns) == len(bound)
    for k in range(side.n_statements):
        code = (int(said.vocabulary[k]), int(said.class_code[k]))
        assert (column[k] >= 0) == (code in bound)
        if column[k] >= 0:
            assert (columns.vocabulary[column[k]], columns.class_code[column[k]]) == code
            name = None if code[0] < 0 else side.vocabularies[code[0]]
            assert columns.names[column[k]] == (name, side.classes[code[1]])
    assert np.array_equal(np.unique(columns.group), np.arange(len(columns.first)))
    assert np.array_equal(columns.vocabulary[columns.first][columns.group], columns.vocabulary)


@given(sides())
def test_the_signed_graph_is_the_must_graph_less_the_cannot_graph(side):
    must, cannot = side.graphs()
    difference = (must - cannot).toarray()
    np.fill_diagonal(difference, 0.0)
    assert np.allclose(side.signed_graph.toarray(), difference, rtol=0, atol=1e-12)
    assert (side.signed_graph.data != 0).all()


@given(sides())
def test_annotated_rows_are_those_that_a_binding_statement_names(side):
    said = side.statements
    named = [
        row for k in np.flatnonzero(said.binding) for row in (said.i[k], said.j[k]) if row >= 0
    ]
    assert side.annotated_rows.tolist() == sorted(set(named))


@given(sides())
def test_views_cannot_be_written_to(side):
    arrays = [*side.canonical, *side.once, side.annotated_rows, side.leading_labels]
    columns, graph = side.class_columns, side.signed_graph
    arrays += [columns.keys, columns.vocabulary, columns.class_code, columns.group, columns.first]
    arrays += [graph.data, graph.indices, graph.indptr]
    assert not any(array.flags.writeable for array in arrays)


def test_labels_in_order_are_not_copied():
    side = SideInformation.from_labels([0, 1, -1, 1])
    assert side.canonical is side.statements


def _labels(vocabulary, weights):
    return SideInformation.from_columns(
        "label", list(range(len(weights))), class_=["a"] * len(weights), weight=weights,
        vocabulary=vocabulary, n_samples=4,
    )  # fmt: skip


def test_the_leading_vocabulary_has_the_most_weight_not_the_most_labels():
    heavy, many = _labels("heavy", [5.0]), _labels("many", [1.0, 1.0, 1.0])
    side = heavy + many
    assert side.vocabularies[side.leading_vocabulary] == "heavy"
    assert side.leading_labels.tolist() == [0, -1, -1, -1]


def test_negative_labels_and_labels_without_weight_lead_no_vocabulary():
    denied = SideInformation.from_columns(
        "not_label", [0, 1], class_=["a", "b"], weight=9.0, vocabulary="denied", n_samples=4
    )
    side = denied + _labels("nothing", [0.0, 0.0]) + _labels("said", [0.5])
    assert side.vocabularies[side.leading_vocabulary] == "said"


def test_a_tie_goes_to_the_shared_vocabulary_then_to_the_first_by_name():
    a, b = _labels("a", [2.0]), _labels("b", [1.0, 1.0])
    assert (b + a).vocabularies[(b + a).leading_vocabulary] == "a"
    assert (b + a + _labels(None, [2.0])).leading_vocabulary == -1


@pytest.mark.parametrize("vocabulary", [None, "own"])
def test_labels_of_one_vocabulary_are_those_of_the_leading_one(vocabulary):
    side = SideInformation.from_labels(["b", None, "a"], vocabulary=vocabulary)
    assert np.array_equal(side.labels, side.leading_labels)


def test_the_group_of_a_class_is_that_of_its_rows():
    side = SideInformation.from_labels([None, "a", "b", "a"])
    side += SideInformation.from_columns("not_label", [0], class_=["c"], n_samples=4)
    closure = side.closure()
    found = closure.group_of_class([-1, -1, -1], [0, 1, 2])
    assert found.tolist() == [closure.groups[1], closure.groups[2], -1]
