"""Rules as tests of pytest.

A team tests its code with pytest, and wants the file that the code makes tested in the same run.
The plugin comes with sqrl: `--sqrl-rules` makes a test of every rule, and the fixture `sqrl_check`
asserts in a test of one's own that nothing has changed. Here ages are read as years of birth in
some rows, and the failing tests say so in the words of a finding.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import sqrl

TEST = """
def test_the_export_is_as_it_was(sqrl_check):
    sqrl_check("rules.json", "export.csv")
"""


def people(n_rows, seed):
    """Made-up people, who earn more as they grow older."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n_rows)
    income = np.exp(rng.normal(10 + 0.01 * age, 0.3)).round(-2)
    return {"age": age, "income": income, "member": rng.choice(["yes", "no"], n_rows)}


folder = Path(tempfile.mkdtemp())
sqrl.learn(people(4000, seed=0)).save(folder / "rules.json")
export = people(1000, seed=1)
export["age"][::40] = 2026 - export["age"][::40]
pa.csv.write_csv(pa.table(export), folder / "export.csv")
(folder / "test_export.py").write_text(TEST)

options = ["-q", "--tb=short", "-p", "no:cacheprovider"]
rules = ["--sqrl-rules", "rules.json", "--sqrl-data", "export.csv"]
command = [sys.executable, "-m", "pytest", *options, *rules]
ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
print(re.sub(r" in [\d.]+s", "", ran.stdout))  # but for the seconds, which vary

if len(sys.argv) > 1:  # a picture of the rule, if a file is named for it
    found = sqrl.check(sqrl.load_rules(folder / "rules.json"), export)
    axes = found.plot(int(found.worst(1)[0]))
    axes.figure.set_size_inches(6.4, 2.4)
    axes.figure.savefig(sys.argv[1], bbox_inches="tight")
