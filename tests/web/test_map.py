"""What the map is made of: points, densities and selections, against slow definitions."""

import base64

import numpy as np
import pytest

from sidelight.exceptions import SidelightError
from sidelight.web._map import density, in_polygon, points, profile, selected
from sidelight.web._rows import plane


def test_a_sample_is_fixed_and_a_view_has_its_rows():
    layout = np.random.default_rng(1).uniform(-1, 1, (5000, 2)).astype(np.float32)
    assert points(layout).tolist() == list(range(5000))
    some = points(layout, most=300)
    assert len(some) == 300
    assert (np.diff(some) > 0).all()
    assert (some == points(layout, most=300)).all()
    box = (0.0, 0.0, 0.5, 0.5)
    inside = {k for k, (x, y) in enumerate(layout) if 0 <= x <= 0.5 and 0 <= y <= 0.5}
    assert set(points(layout, box).tolist()) == inside
    few = points(layout, box, most=50)
    assert len(few) == 50
    assert set(few.tolist()) <= inside


def test_a_density_counts_every_row_once():
    layout = np.array([[-1, -1], [1, 1], [0.99, -1], [-1, -1]], dtype=np.float32)
    grid = density(layout, n=4).reshape(4, 4)
    assert grid.sum() == 4
    assert (grid[0, 0], grid[3, 3], grid[0, 3]) == (2, 1, 1)


def slow_in_polygon(x, y, polygon):
    """The winding number, corner by corner."""
    total = 0.0
    for k, (x1, y1) in enumerate(polygon):
        x2, y2 = polygon[(k + 1) % len(polygon)]
        a, b = complex(x1 - x, y1 - y), complex(x2 - x, y2 - y)
        total += np.angle(b / a)
    return abs(total) > np.pi


def test_points_in_a_polygon_are_those_it_winds_around():
    rng = np.random.default_rng(2)
    layout = rng.uniform(-1, 1, (400, 2)).astype(np.float32)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 30))
    reach = rng.uniform(0.2, 0.9, 30)
    star = np.column_stack([reach * np.cos(angles), reach * np.sin(angles)])
    wanted = [slow_in_polygon(x, y, star) for x, y in layout]
    found = in_polygon(layout, star)
    assert found.tolist() == wanted
    assert 0 < found.sum() < 400


def test_steps_combine_and_every_way_of_choosing_works(owner, project, bench):
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [1, 3], "class": "tall"})
    owner.post(f"projects/{project}/say", {"kind": "must", "rows": [5, 7]})
    layout = bench.folder.array(bench.store.project(project).config["files"]["layout"])
    everything = [[-2, -2], [2, -2], [2, 2], [-2, 2]]

    def rows(*steps):
        return np.flatnonzero(selected(bench, project, steps)).tolist()

    assert rows({"op": "add", "by": "polygon", "polygon": everything}) == list(range(40))
    assert rows({"op": "add", "by": "rows", "rows": [4, 2]}) == [2, 4]
    assert rows({"op": "add", "by": "class", "class": "tall"}) == [1, 3]
    assert rows({"op": "add", "by": "annotator", "annotator": "ann"}) == [1, 3, 5, 7]
    assert len(rows({"op": "add", "by": "unlabelled"})) == 38
    assert rows({"op": "add", "by": "text", "text": "r39"}) == [39]
    odd = {"op": "add", "by": "text", "text": "bonn"}
    assert rows(odd) == list(range(1, 40, 2))
    assert rows(odd, {"op": "intersect", "by": "rows", "rows": [1, 2, 3]}) == [1, 3]
    assert rows(odd, {"op": "subtract", "by": "text", "text": "bonn"}) == []
    assert rows(odd, {"op": "intersect", "by": "unlabelled"})[0] == 5
    assert layout.shape == (40, 2)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"op": "add", "by": "rows", "rows": [40]}, "rows 0 to 39"),
        ({"op": "add", "by": "polygon", "polygon": [[0, 0]]}, "three corners"),
        ({"op": "add", "by": "colour"}, "is not one of them"),
        ({"op": "xor", "by": "all"}, "unknown operation"),
        ({"op": "add", "by": "cluster", "clusters": [0]}, "numbers of the two runs"),
        ({"op": "add", "by": "moved"}, "numbers of the two runs"),
    ],
)
def test_a_wrong_step_is_a_sentence(project, bench, step, message):
    with pytest.raises(SidelightError, match=message):
        selected(bench, project, [step])


def test_a_selection_is_described_said_and_undone_as_one_step(owner, project, bench):
    steps = [{"op": "add", "by": "text", "text": "bonn"}]
    found = owner.post(f"projects/{project}/selected", {"steps": steps})
    bits = np.unpackbits(
        np.frombuffer(base64.b64decode(found["bits"]), np.uint8), count=40, bitorder="little"
    )
    assert np.flatnonzero(bits).tolist() == list(range(1, 40, 2))
    assert found["n"] == 20
    assert found["rows"][0]["id"] == "r1"
    assert all(trait["deviations"] > 0.9 for trait in found["profile"])
    said = owner.post(
        f"projects/{project}/say", {"kind": "label", "steps": steps, "class": "north"}
    )
    assert bench.store.count_statements(project) == {"label": 20}
    assert bench.store.events(project)[-1].body["how"]["steps"][0]["text"] == "bonn"
    again = owner.post(f"projects/{project}/selected", {"steps": steps})
    assert again["classes"] == [{"name": "north", "colour": None, "n": 20}]
    owner.post(f"projects/{project}/retract", {"event": said["events"][0]})
    assert bench.store.count_statements(project) == {}
    nothing = [*steps, {"op": "subtract", "by": "all"}]
    assert owner.post(f"projects/{project}/selected", {"steps": nothing})["rows"] == []
    with pytest.raises(SidelightError, match="nothing is selected"):
        owner.post(f"projects/{project}/say", {"kind": "label", "rows": [], "class": "x"})


def test_a_selection_is_kept_under_a_name_and_taken_back(owner, project, bench):
    steps = [{"op": "add", "by": "text", "text": "bonn"}]
    made = owner.post(f"projects/{project}/selections", {"name": "northerners", "steps": steps})
    (kept,) = owner.get(f"projects/{project}/selections")
    assert kept["name"] == "northerners"
    assert kept["steps"][0]["text"] == "bonn"
    assert bench.store.count_statements(project) == {}
    owner.post(f"projects/{project}/retract", {"event": made["events"][0]})
    assert owner.get(f"projects/{project}/selections") == []
    said = bench.store.statements(project)
    bench.store.rebuild(project)
    assert bench.store.statements(project) == said


def test_a_profile_names_what_lies_far_from_the_rest():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:20, 1] += 6
    found = profile(X, np.arange(20), ["a", "b", "c"])
    assert found[0]["name"] == "b"
    far = (X[:20, 1].mean() - X[:, 1].mean()) / X[:, 1].std()
    assert found[0]["deviations"] == pytest.approx(far)


def test_annotators_get_no_map(as_person, project):
    bob = as_person("bob", "annotator")[0]
    for path in ("points.bin", "density.bin", "selections"):
        with pytest.raises(SidelightError, match="403"):
            bob.get(f"projects/{project}/{path}")
    with pytest.raises(SidelightError, match="403"):
        bob.post(f"projects/{project}/selected", {"steps": []})


def test_far_rows_neither_press_the_others_together_nor_fall_on_one_line():
    rng = np.random.default_rng(0)
    clouds = np.repeat([[0.0, 0.0], [6.0, 1.0]], [5000, 700], axis=0) + rng.normal(size=(5700, 2))
    drawn = plane(clouds)
    assert np.abs(drawn).max() == 1
    # Nothing is cut off: a cloud at the edge of the map has no straight side.
    assert (np.abs(drawn) > 0.999).sum() <= 2
    far = np.vstack([clouds, [[1e6, 0.0], [2e6, 0.0], [0.0, -1e9]]])
    drawn = plane(far)
    assert np.abs(drawn).max() <= 1
    assert len(np.unique(drawn[-3:], axis=0)) == 3
    assert np.ptp(drawn[:-3], axis=0).max() > 1.2
    assert not plane(np.zeros((1500, 2))).any()
