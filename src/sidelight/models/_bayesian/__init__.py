"""Bayesian mixtures."""
