"""Data sets of the papers by name, and generators with a known truth."""

from sidelight.datasets._generators import (
    Documents,
    GaussianSample,
    MergedGaussians,
    TwoViews,
    make_blobs,
    make_concentric_circles,
    make_documents,
    make_gaussian_mixture,
    make_merged_gaussians,
    make_two_views,
)
from sidelight.datasets._load import Dataset, DatasetInfo, list_datasets, load
from sidelight.tables import Table, read_table

__all__ = [
    "Dataset",
    "DatasetInfo",
    "Documents",
    "GaussianSample",
    "MergedGaussians",
    "Table",
    "TwoViews",
    "list_datasets",
    "load",
    "make_blobs",
    "make_concentric_circles",
    "make_documents",
    "make_gaussian_mixture",
    "make_merged_gaussians",
    "make_two_views",
    "read_table",
]
