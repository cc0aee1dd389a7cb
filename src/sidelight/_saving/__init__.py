"""Fitted models in files: an open archive of arrays and JSON, which holds nothing to execute."""

from sidelight._saving._archive import VERSION, read_archive, write_archive

__all__ = ["VERSION", "read_archive", "write_archive"]
