"""Partitions and trees of low structural entropy."""
