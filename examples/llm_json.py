"""The JSON that a language model answers.

A model reads invoices and answers in JSON; every answer is valid JSON, and that is all a validator
can say. From answers that people have gone over sqrl learns what values occur and what adds up to
what. After the prompt was changed some totals are without tax and a currency is spelt out: the
check says so, and a guard made of the same rules turns such an answer away as it comes.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import sqrl

TAX = {"EUR": 0.19, "CHF": 0.081, "NOK": 0.25}


def answers(n_rows, seed, is_new=False):
    """Made-up answers, one for each invoice."""
    rng = np.random.default_rng(seed)
    for number in range(n_rows):
        currency = str(rng.choice(list(TAX), p=[0.7, 0.2, 0.1]))
        net = round(float(rng.gamma(2, 150)) + 5, 2)
        tax = round(net * TAX[currency], 2)
        total = round(net + tax, 2)
        if is_new and rng.random() < 0.06:
            total = net
        if is_new and currency == "EUR" and rng.random() < 0.03:
            currency = "Euro"
        amounts = {"net": net, "tax": tax, "total": total}
        yield {"invoice": number, "currency": currency, **amounts, "lines": int(rng.poisson(3)) + 1}


def write(path, rows):
    """A line of JSON for each answer."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


folder = Path(tempfile.mkdtemp())
rules = sqrl.learn(write(folder / "reviewed.jsonl", answers(3000, seed=0)))
found = sqrl.check(rules, write(folder / "today.jsonl", answers(800, seed=1, is_new=True)))
print(*found.findings(), sep="\n")

accept = sqrl.guard(rules)  # once, when the service starts
one = {"invoice": 3001, "currency": "EUR", "net": 400.0, "tax": 76.0, "total": 400.0, "lines": 2}
print("\nan answer as it comes:", *accept(one), sep="\n  ")
print("mended:", accept(one | {"total": 476.0}) or "accepted")

if len(sys.argv) > 1:  # the report page, if a file is named for it
    sqrl.write_report(found, sys.argv[1], title="Answers of the new prompt")
