"""Pages rendered by the scripts in benchmarks/, in this process: their imports are there."""

import importlib
import sys

import pytest


def render(script, *arguments):
    """Run the script as a person would, with these arguments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [f"{script}.py", *map(str, arguments)])
        importlib.import_module(script).main()
