"""Choosing a model and K by statements held back."""
