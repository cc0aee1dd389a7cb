"""Gaussian clusters with annotators who are sometimes wrong."""
