"""Aggregates of a Markov chain."""
