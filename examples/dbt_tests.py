"""Rules as tests of a dbt project.

A table of orders is rebuilt by dbt every night, in a warehouse. sqrl learns rules from a good
extract and writes each as a test of dbt: a file of plain SQL that fails where more rows break its
rule than chance explains, and that needs nothing of sqrl to run. Here DuckDB runs the files, and a
change that books refunds twice fails the one test it should.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import sqrl

try:
    import duckdb

    from sqrl.export import to_dbt
except ImportError:
    sys.exit('This example needs DuckDB and sqlglot: pip install duckdb "sqrl-rules[export]"')

SHAPES = {
    "let": {"C": "values(channel)"},
    "rules": [
        "channel = C => ? <= amount <= ?",
        "? <= quantity <= ?",
        "? <= refund / amount <= ?",
        "channel in ?",
    ],
}


def orders(n_rows, seed):
    """Made-up orders of two channels."""
    rng = np.random.default_rng(seed)
    channel = rng.choice(["app", "web"], n_rows)
    quantity = rng.poisson(2, n_rows) + 1
    amount = quantity * rng.gamma(8, np.where(channel == "app", 2, 3))
    refund = amount * rng.beta(1, 8, n_rows)
    return {"channel": channel, "quantity": quantity, "amount": amount, "refund": refund}


rules = sqrl.learn(orders(5000, seed=0), SHAPES)
tests = to_dbt(rules, table="orders", dialect="duckdb")
folder = Path(tempfile.mkdtemp(), "tests", "sqrl")  # of the dbt project
folder.mkdir(parents=True)
for name, sql in tests.items():
    (folder / name).write_text(sql)

new = orders(2000, seed=1)
new["refund"] = 2 * new["refund"]
warehouse = duckdb.connect()
warehouse.register("orders", pa.table(new))
for path in sorted(folder.iterdir()):
    broken = warehouse.sql(path.read_text().replace("{{ ref('orders') }}", "orders")).fetchall()
    print("FAIL" if broken else "pass", path.name)
    for number, _, applicable, violations, allowed in broken:
        print(f"     {rules[number - 1].short_text}")
        print(f"     {violations} of {applicable} rows break it, {allowed:.0f} are allowed")

if len(sys.argv) > 1:  # a picture of the rule, if a file is named for it
    found = sqrl.check(rules, new)
    axes = found.plot(int(found.worst(1)[0]))
    axes.figure.set_size_inches(6.4, 2.4)
    axes.figure.savefig(sys.argv[1], bbox_inches="tight")
