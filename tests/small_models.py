"""Models by name for tests that go over all of them."""

from sidelight.models import find_model


def with_clusters(name, n_clusters):
    """A model with a number of clusters and a seed, where it has such parameters."""
    model = find_model(name)()
    given = {"n_clusters": n_clusters, "random_state": 0}
    return model.set_params(**{key: given[key] for key in given if key in model.get_params()})
