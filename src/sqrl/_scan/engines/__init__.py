"""Engines run jobs over parts of the data. ENGINES is the door for another: see CONTRIBUTING.md.

Nothing heavy is imported here: an engine is loaded when it is first used.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sqrl._registry import Registry
from sqrl.errors import MissingExtraError

if TYPE_CHECKING:
    from sqrl._scan.job import Engine, Part

IN_MEMORY = "memory"  # stands for no engine: the data is read whole


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """How an engine is had: by its name for files, by their type for data of its own.

    `of_files(name, parts, columns)` gives the engine for files that were cut into parts.
    `of_data(data)` gives the one for objects whose type is of the module `data_module`, or of one
    inside it. `needs` is the module that has to be installed, and the extra that installs it.
    """

    name: str
    of_files: "Callable[[str, Sequence[Part], tuple[str, ...]], Engine] | None" = None
    of_data: "Callable[[Any], Engine] | None" = None
    data_module: str | None = None
    needs: str | None = None

    def recognises(self, data: Any) -> bool:
        """Whether the data is of this engine's own kind."""
        home = f"{type(data).__module__}."
        return self.data_module is not None and home.startswith(f"{self.data_module}.")

    def refuse_missing(self) -> None:
        """Raise, before any work, where what the engine needs is not installed."""
        if self.needs is not None and not _is_installed(self.needs):
            what = f"The engine {self.name!r} needs {self.needs}, which is not installed."
            raise MissingExtraError(what, fix=f'pip install "sqrl-rules[{self.needs}]"')


def file_engines() -> list[str]:
    """The names of the engines that go through files."""
    return [entry.name for entry in ENGINES.values() if entry.of_files is not None]


def engine_of_data(data: Any) -> "Engine | None":
    """The engine of a Ray dataset or a Spark dataframe, say; None for what no engine recognises."""
    for entry in ENGINES.values():
        if entry.of_data is not None and entry.recognises(data):
            return entry.of_data(data)
    return None


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    return find_spec(module) is not None


def _local(name: str, parts: "Sequence[Part]", columns: tuple[str, ...]) -> "Engine":
    from sqrl._scan.engines.local import LocalEngine

    return LocalEngine(name, parts, names=columns)


def _ray(name: str, parts: "Sequence[Part]", columns: tuple[str, ...]) -> "Engine":
    from sqrl._scan.engines.ray import RayEngine

    return RayEngine(name, parts, columns)


def _ray_dataset(data: Any) -> "Engine":
    from sqrl._scan.engines.ray import RayEngine

    return RayEngine.of_dataset(data)


def _spark_dataframe(data: Any) -> "Engine":
    from sqrl._scan.engines.spark import SparkEngine

    return SparkEngine(data)


ENGINES = Registry(
    "engine",
    {
        "local": EngineEntry("local", _local),
        "ray": EngineEntry("ray", _ray, _ray_dataset, "ray.data", needs="ray"),
        "spark": EngineEntry("spark", None, _spark_dataframe, "pyspark.sql"),
    },
)
