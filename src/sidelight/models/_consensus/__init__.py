"""Consensus of several partitions of the same rows."""
