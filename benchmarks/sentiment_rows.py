"""Measures what other rules about sentences are worth, without the rest of the sentiment bench.

python benchmarks/sentiment_rows.py --data DIR [--rules-alone] [-o FILE]

Rules by features of a network in the place of counted words, and rules that held-out sentences show
to hold. With --rules-alone no model is trained: what true labels break of the rules, and no method
that follows them. A whole run of `sqrl bench sentiment` has them too; `render_tasks.py` takes them
from here.
"""

import argparse
from pathlib import Path

import msgspec

from measure import HERE
from sqrl.commands import Bar, write_atomically
from sqrl_paper.bench import run_bench


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description="Rows of other rules for sentiment.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rules-alone", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    default = HERE / "results" / "sentiment_rows.json"
    parser.add_argument("-o", "--output", type=Path, default=default)
    given = parser.parse_args()
    with Bar(quiet=False) as bar:
        found = run_bench(
            "sentiment",
            folder=given.data,
            quick=given.quick,
            n_workers=given.workers,
            part="rules_alone" if given.rules_alone else "rows",
            track=bar,
        )
    text = msgspec.json.format(msgspec.json.encode(found), indent=1)
    write_atomically(given.output, text + b"\n")


if __name__ == "__main__":
    main()
