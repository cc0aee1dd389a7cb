"""How results look: pictures of clusters and of what people said."""

from sidelight.report._figures import new_figure, plot_clusters, project

__all__ = ["new_figure", "plot_clusters", "project"]
