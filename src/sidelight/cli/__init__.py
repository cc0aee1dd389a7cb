"""The command line: every command is one call of the library.

Commands import what they need when they run, so that ``sidelight --help`` answers at once.
"""

from sidelight.cli._app import app, main

__all__ = ["app", "main"]
