"""Jobs that several benches have."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The seed whose data, rules and source model are described."""

    seed: int
