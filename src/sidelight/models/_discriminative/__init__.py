"""Discriminative clustering: a committee of soft classifiers fitted to statements and data."""
