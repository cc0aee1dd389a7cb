"""The inner loops, compiled by numba: see README.md in this folder."""
