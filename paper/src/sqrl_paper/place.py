"""Place: where a bench finds its data and keeps what it made."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

AT_ONCE = 1 << 20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What all jobs of a bench share.

    `data` is a fingerprint of the files in `folder`; `is_made` says that they are made up, for
    want of real ones. `quick` stands for small sizes.
    """

    folder: Path
    cache: Path
    quick: bool
    data: str
    is_made: bool = False


def fingerprint(paths: Iterable[Path]) -> str:
    """Hex digits that change with the name and the content of any of the files.

    >>> fingerprint([])
    'e3b0c44298fc1c14'
    """
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while piece := file.read(AT_ONCE):
                digest.update(piece)
    return digest.hexdigest()[:16]
