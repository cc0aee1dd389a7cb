"""Mixtures and fuzzy clusters with labels and equivalence."""
