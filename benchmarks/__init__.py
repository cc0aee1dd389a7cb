"""Benchmarks: how fast, how much memory, beside scikit-learn's KMeans on the same data."""
