"""Reports: a summary as plain data, pictures, and one HTML page."""

from sidelight.report._charts import plot_annotators, plot_confusion, plot_history, plot_profiles
from sidelight.report._colours import align_clusters
from sidelight.report._figures import check_pictures, new_figure, plot_clusters, project
from sidelight.report._markers import rank_features
from sidelight.report._page import write_report
from sidelight.report._statements import disagreements, summarize_side
from sidelight.report._summary import Evidence, own_membership, summarize, suspect_rows
from sidelight.report._tree import plot_tree

__all__ = [
    "Evidence",
    "align_clusters",
    "check_pictures",
    "disagreements",
    "new_figure",
    "own_membership",
    "plot_annotators",
    "plot_clusters",
    "plot_confusion",
    "plot_history",
    "plot_profiles",
    "plot_tree",
    "project",
    "rank_features",
    "summarize",
    "summarize_side",
    "suspect_rows",
    "write_report",
]
