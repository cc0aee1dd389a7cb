"""The table of kinds: what each kind is about, and whether it says together or apart."""

import re
from pathlib import Path

import numpy as np
import pytest

import sidelight
from sidelight import SideInformation
from sidelight.side import KINDS, Kind, usable_kinds


def _one(kind, **about):
    return SideInformation.from_columns(kind, [0], **about, n_samples=4)


def _about(kind):
    """One statement of a kind about row 0, and the partitions that put it together and apart."""
    if Kind.of(kind).about == "class":
        other = SideInformation.from_labels([None, "a", None, "b"])
        return _one(kind, class_=["a"]) + other, [0, 0, 1, 1], [1, 0, 1, 1]
    return _one(kind, j=[1]), [0, 0, 1, 1], [1, 0, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_partition_breaks_a_statement_that_has_the_opposite_sign(kind):
    side, together, apart = _about(kind)
    sign = Kind.of(kind).sign
    assert side.violated(together)[0] == (sign < 0)
    assert side.violated(apart)[0] == (sign > 0)


@pytest.mark.parametrize("kind", KINDS)
def test_traits_of_statements_are_those_of_their_kind(kind):
    side, *_ = _about(kind)
    said, traits = side.statements.take(np.array([0])), Kind.of(kind)
    assert (said.is_pair[0], said.is_class[0]) == (traits.about == "pair", traits.about == "class")
    assert (said.sign[0], said.signed_weight[0]) == (traits.sign, float(traits.sign))
    assert said.binding[0] == traits.binds


@pytest.mark.parametrize("kind", KINDS)
def test_a_statement_is_told_in_the_words_of_its_kind(kind):
    side, *_ = _about(kind)
    other = "'a'" if Kind.of(kind).about == "class" else "1"
    assert side.describe(0) == f"0 {Kind.of(kind).words} {other} ({kind})"


def test_what_binds_nothing_can_be_handed_to_every_model():
    assert usable_kinds(["label"]) == ["unsure", "label"]
    assert usable_kinds(()) == ["unsure"]


def test_no_code_asks_for_ranges_or_sets_of_kind_numbers():
    """A new kind has to be a line in the table: code asks for traits, or for exactly one kind."""
    source = Path(sidelight.__file__).parent
    name = "(MUST|CANNOT|UNSURE|LABEL|NOT_LABEL)"
    ranges = re.compile(rf"\.kind(\[[^]]*\])? *[<>]|[<>]=? *{name}\b")
    sets = re.compile(rf"isin\([\w.]*\.kind\b|\({name}, {name}")
    found = [
        f"{path.relative_to(source)}:{number}: {line.strip()}"
        for path in source.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if ranges.search(line) or sets.search(line)
    ]
    assert not found, "\n".join(found)
