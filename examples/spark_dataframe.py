"""A Spark dataframe, checked where its rows are.

A table of weather stations is too large for one machine and is read by Spark. `sqrl.learn` and
`sqrl.check` take the dataframe as it is, go over its parts in place, and give the same rules and
counts as in memory, to the last bit. In one region humidity arrives as a share instead of per cent:
the check says how many rows lie beyond all that was seen.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import sqrl

try:
    from pyspark.sql import SparkSession
except ImportError:
    sys.exit('This example needs Spark, and Java: pip install "sqrl-rules[spark]"')


def weather(n_rows, seed):
    """Made-up readings of four regions; warm air seems drier."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["coast", "hills", "lakes", "plain"], n_rows)
    warmth = rng.normal(15, 6, n_rows)
    humidity = np.clip(75 - 1.2 * (warmth - 15) + rng.normal(0, 8, n_rows), 5, 100)
    return {"region": region, "temperature": warmth.round(1), "humidity": humidity.round(1)}


folder = Path(tempfile.mkdtemp())
new = weather(8_000, seed=1)
new["humidity"][new["region"] == "lakes"] /= 100
for name, columns in {"train": weather(40_000, seed=0), "new": new}.items():
    pa.parquet.write_table(pa.table(columns), folder / f"{name}.parquet", row_group_size=10_000)

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run the same Python
options = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
spark = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
rules = sqrl.learn(spark.read.parquet(str(folder / "train.parquet")))
found = sqrl.check(rules, spark.read.parquet(str(folder / "new.parquet")))
spark.stop()

print(found)
print(*found.findings(), sep="\n")
in_memory = sqrl.check(rules, new)
print("the same counts in memory:", found.broken.tolist() == in_memory.broken.tolist())

if len(sys.argv) > 1:  # a picture of all rules, if a file is named for it
    axes = found.plot()
    axes.figure.set_size_inches(6.4, 3.2)
    axes.figure.savefig(sys.argv[1], bbox_inches="tight")
