"""Jobs for tests of the bench: processes of their own have to find them in a module."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """A job: a number, and a file that counts how often it was squared."""

    number: int
    diary: str


def square(place, job):
    """The square of the job's number; minus one cannot be squared on a bad day."""
    with Path(job.diary).open("a") as file:
        file.write(f"{job.number}\n")
    if job.number < 0:
        raise ValueError("a bad day")
    return {"square": job.number**2, "quick": place.quick, 1: float("nan")}


def leave(place, job):  # noqa: ARG001
    """A process that is stopped from outside."""
    os._exit(1)
