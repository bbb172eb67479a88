"""The style and the script of the review page, which a browser and a notebook share."""

from sqrl.report._page import read_asset


def own_asset(name: str) -> bytes:
    """A file of this room."""
    return read_asset(name, "sqrl._review")


def review_style() -> bytes:
    """What all pages share, then what is of the review."""
    return read_asset("page.css") + own_asset("review.css")


def review_script() -> bytes:
    """What defines `openReview`; what comes after it says where, and how Python is reached."""
    return read_asset("makers.js") + own_asset("review.js")
