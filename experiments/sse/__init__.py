"""Structural entropy with constraints, and the methods that it is compared with."""
