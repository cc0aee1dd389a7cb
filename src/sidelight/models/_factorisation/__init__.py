"""Nonnegative factorisations of a graph or of rows, by multiplicative steps."""
