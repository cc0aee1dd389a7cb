"""Whether answers carry information: the evidence, and what is shown when they carry none."""

import numpy as np
import pytest

from sidelight.metrics import adjusted_rand
from sidelight.query import Asker, Oracle, converse
from sidelight.query._choose import label_values, loss
from sidelight.query._committee import Facts
from sidelight.query._display import expected_ari
from sidelight.query._witness import _RATES, PROOF, Witness, spoken_pairs

RNG = np.random.default_rng(0)


def clouds(n=80, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return 2.5 * np.eye(3)[y] + 0.6 * rng.normal(size=(n, 3)), y


X, Y = clouds()


def guesses(seed):
    """Answers that know nothing of the rows."""
    rng = np.random.default_rng(seed)
    names = sorted(set(Y.tolist()))
    return lambda q: (
        ["must", "cannot"][rng.integers(2)] if q.kind == "pair" else names[rng.integers(len(names))]
    )


HOSTILE = {
    "always wrong": lambda seed: Oracle(Y, wrong=1.0, random_state=seed),
    "silent": lambda seed: Oracle(Y, silent=1.0, random_state=seed),
    "guesses": guesses,
}


def answered(asker, n, oracle):
    for _ in range(n):
        question = asker.ask()[0]
        asker = asker.answer(question, oracle(question))
    return asker


def heard_of(chances, together):
    return Witness.of(1).heard(0, np.stack([chances, chances]), together)


def test_evidence_is_the_ratio_of_mean_likelihoods():
    p, must = RNG.random(12), RNG.random(12) < 0.5
    witness = Witness.of(1)
    for k in range(12):  # one at a time
        witness = witness.heard(0, np.full((2, 1), p[k]), must[[k]])

    def mean_likelihood(pairs):
        rates = [low + (high - low) * p for low, high in pairs]
        return np.mean([np.prod(np.where(must, rate, 1 - rate)) for rate in rates])

    every = [(a, c) for a in _RATES for c in _RATES]
    knows, guess = ([x for x in every if x[0] < x[1]], [x for x in every if x[0] == x[1]])
    against = [x for x in every if x[0] > x[1]]
    assert np.isclose(
        witness.informative(0), np.log(mean_likelihood(knows) / mean_likelihood(guess))
    )
    assert np.isclose(
        witness.contrary(0), np.log(mean_likelihood(against) / mean_likelihood(guess))
    )
    assert witness.n[0] == 12


def test_evidence_of_guesses_is_a_fair_game():
    """Whatever the predictions, its exponential has mean 1 over guessers of all rates."""
    p = RNG.random(20)
    witnesses = [heard_of(p, RNG.random(20) < rate) for rate in np.repeat(_RATES, 100)]
    for evidence in (Witness.informative, Witness.contrary):
        ratio = np.exp([evidence(witness, 0) for witness in witnesses])
        assert abs(np.mean(ratio) - 1) < 4 * np.std(ratio) / np.sqrt(len(ratio))
        assert np.mean(ratio > np.exp(PROOF)) < np.exp(-PROOF)


def test_those_who_know_and_those_who_say_the_opposite_are_told_apart():
    p = RNG.random(60)
    must = RNG.random(60) < p
    assert heard_of(p, must).informative(0) > PROOF > 0 > heard_of(p, must).contrary(0)
    assert heard_of(p, ~must).contrary(0) > PROOF > 0 > heard_of(p, ~must).informative(0)


def test_the_opposite_is_not_believed_beyond_the_level_of_five_percent():
    p = np.tile([0.15, 0.85], 15)
    evidence, believed = [], []
    for n in range(1, 31):
        witness = heard_of(p[:n], p[:n] < 0.5)
        evidence.append(witness.contrary(0) - max(witness.informative(0), 0.0))
        believed.append(witness.is_credible(0, 0.9, is_audited=False))
    assert evidence[0] < np.log(20) < evidence[-1]
    first = int(np.argmin(believed))
    assert evidence[first - 1] < np.log(20) + 0.01 < evidence[first]


def test_a_name_is_compared_with_the_nearest_and_the_farthest_named_row():
    asker = Asker(X, kinds=("label",), refit=None, random_state=0)
    first = asker._state.committee
    earlier = Facts.of([(row, -1, int(Y[row]), 1, 0, 1.0) for row in range(10)])
    i, j, same = spoken_pairs(Facts.of([(20, -1, int(Y[20]), 1, 0, 1.0)]), earlier, first)
    near = first.together(np.full(10, 20), np.arange(10))
    assert set(j) == {int(np.argmax(near)), int(np.argmin(near))}
    assert np.array_equal(same, Y[j] == Y[20])
    assert set(i) == {20}
    by_another = Facts.of([(20, -1, int(Y[20]), 1, 1, 1.0)])
    assert len(spoken_pairs(by_another, earlier, first)[0]) == 0


@pytest.mark.parametrize("kinds", [("pair",), ("pair", "label")])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_annotator_does_little_harm(hostile, kinds):
    for seed in range(2):
        asker = Asker(X, kinds=kinds, refit=None, random_state=seed)
        before = adjusted_rand(Y, asker.labels)
        asker = answered(asker, 50, HOSTILE[hostile](seed))
        assert adjusted_rand(Y, asker.labels) > before - 0.05
        if hostile != "silent":
            assert not asker.trusted
            assert "before the first answer is shown" in asker.stopping.sentence


def test_who_says_the_opposite_is_found_without_audits():
    asker = Asker(X, kinds=("pair",), audit=0.0, refit=None, random_state=0)
    assert not answered(asker, 40, HOSTILE["always wrong"](0)).trusted


def test_an_honest_annotator_is_trusted():
    asker = Asker(X, kinds=("pair",), refit=None, random_state=0)
    for wrong in (0.0, 0.1):
        assert answered(asker, 50, Oracle(Y, wrong=wrong, random_state=2)).trusted


def test_one_hostile_annotator_among_others_has_no_weight():
    people = {
        "ann": Oracle(Y, random_state=1),
        "bob": Oracle(Y, wrong=0.1, random_state=2),
        "eve": Oracle(Y, wrong=1.0, random_state=3),
    }
    asker = Asker(X, annotators=list(people), kinds=("pair",), refit=None, random_state=0)
    asker = converse(asker, people, n_answers=120)
    committee = asker._state.committee
    eve = asker._state.names.annotators.index("eve")
    assert committee.ignored == (eve,)
    assert (committee.fact_weight == (committee.facts.annotator != eve)).all()
    assert asker.trusted
    assert adjusted_rand(Y, asker.labels) > 0.95
    asked = [answer.annotator for answer in asker.answers if not answer.question.audit]
    assert "eve" not in asked[-20:]  # only audits are left for her


def test_the_value_of_a_label_is_that_of_its_outcomes():
    """Against a loop over outcomes: every known class, or none of them."""
    asker = answered(Asker(X[:30], kinds=("pair", "label"), audit=0.0, refit=None, random_state=0),
                     16, Oracle(Y[:30]))  # fmt: skip
    committee = asker._state.committee
    G, weights = committee.spread[0], committee.weights
    anchors = committee.items.anchors(len(committee.vocabulary))
    assert len(anchors) == 3
    items = np.flatnonzero(~committee.items.is_anchor)[:10]
    for s, value in zip(items, label_values(committee, items, 0.85), strict=True):
        left = 0.0
        for outcome in [*anchors, None]:
            alone = ~(committee.z[:, anchors] == committee.z[:, [s]]).any(axis=1)
            right = alone if outcome is None else committee.z[:, outcome] == committee.z[:, s]
            posterior = weights * np.where(right, 0.85, 0.15 / 3)
            left += posterior.sum() * loss(G, posterior / posterior.sum())
        assert np.isclose(value, loss(G, weights) - left)


@pytest.mark.parametrize(
    ("kinds", "n", "say"), [(("pair",), 12, 0.4), (("pair", "label"), 16, 0.25)]
)
def test_the_first_chains_have_a_say_in_what_is_shown(kinds, n, say):
    """The expected ARI is that of a mixture: present chains, and those before the first answer.

    Of 16 answers six are names, so the first chains have ten sixteenths of their say.
    """
    asker = answered(Asker(X, kinds=kinds, audit=0.0, refit=None, random_state=0), n, Oracle(Y))
    now, first = asker._state.committee, asker._origin.state.committee
    shown = asker._shown.clusters
    cuts = [shown, np.arange(len(now.items.node)) % 4]
    rows = [cut[now.items.of_slot[now.structure.row_leaf]] for cut in cuts]

    def mean(committee, cut):
        every = committee.z[:, committee.items.of_slot[committee.structure.row_leaf]]
        return committee.weights @ [adjusted_rand(z, cut) for z in every]

    expected = [(1 - say) * mean(now, cut) + say * mean(first, cut) for cut in rows]
    real = ~now.items.is_anchor
    assert np.allclose(expected_ari(now, [cut[real] for cut in cuts], first), expected)
    assert np.array_equal(asker.retract(asker.answers[0].id)._origin.own_labels, Asker(
        X, kinds=kinds, audit=0.0, refit=None, random_state=0).labels)  # fmt: skip
