"""How results look: pictures of clusters and of what people said."""

from sidelight.report._figures import plot_clusters, project

__all__ = ["plot_clusters", "project"]
