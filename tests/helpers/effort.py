"""How much a test does: enough in `make test`, more in `make slow`."""

import os


def often(quick, slow):
    """The number of examples or runs: the first, or the second where SQRL_SLOW is set."""
    return slow if os.environ.get("SQRL_SLOW") else quick
