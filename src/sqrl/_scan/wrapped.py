"""An engine around another, for what is to happen before or after its jobs."""

from dataclasses import dataclass

from sqrl._scan.job import Engine, Job, ReadChunk, State, Track


@dataclass(slots=True, eq=False)
class Around:
    """The data of another engine, which also runs the jobs."""

    engine: Engine

    @property
    def name(self) -> str:
        """What to call the data in messages."""
        return self.engine.name

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return self.engine.names

    def counts(self) -> list[int]:
        """How many rows each part has, in the order of the rows."""
        return self.engine.counts()

    def run(
        self, job: Job, firsts: list[int], read: ReadChunk, *, track: Track | None = None
    ) -> State:
        """The state of all rows; `firsts` are the numbers of the parts' first rows."""
        return self.engine.run(job, firsts, read, track=track)
