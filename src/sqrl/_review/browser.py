"""The browser of whoever reviews, led to the page without showing the address to others."""

import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from threading import Thread


@contextmanager
def opening_browser(address: str) -> Iterator[Thread]:
    """Open an address in a browser, by way of a file that only we can read.

    Every user of a machine sees the arguments of all processes, and the address has a token in it.
    The thread is one of its own, for a browser in a terminal returns when it is closed.
    """
    with tempfile.TemporaryDirectory(prefix="sqrl-") as folder:
        path = Path(folder, "review.html")
        page = f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(address)}">\n'
        path.write_text(page, encoding="utf-8")
        thread = Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True)
        thread.start()
        yield thread
