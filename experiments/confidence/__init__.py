"""Defaults beside what people would use instead, on the development tables."""
