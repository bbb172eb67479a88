"""The start page shows what its commands print, and its templates are learned."""

import csv
import re
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import yaml

import sqrl as package
from made_reports import plain_columns
from sqrl._data.demo import demo_people

PAGE = (Path(__file__).parent.parent / "docs" / "index.md").read_text()


def write_csv(columns, path):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def test_the_three_commands_print_what_the_page_shows(sqrl, tmp_path):
    """From two files to a named fault."""
    good, new = plain_columns(demo_people()), plain_columns(demo_people(2000, seed=1))
    pairs = zip(new["owner"], new["city"], strict=True)
    new["owner"] = ["Yes" if pair == ("yes", "Porto") else pair[0] for pair in pairs]
    write_csv(good, tmp_path / "good.csv")
    write_csv(new, tmp_path / "new.csv")
    install, *commands = re.search(r"```shell\n(.*?)```", PAGE, flags=re.DOTALL)[1].splitlines()
    shown = re.search(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)[1]
    learned, checked = (sqrl(*line.split("#")[0].split()[1:]) for line in commands)

    assert install.startswith("pip install")
    assert (learned.code, checked.code) == (0, 1)
    assert checked.out.startswith(shown)
    for sentence in ("21 <= age <= 69", "owner = no => 15850 <= income <= 64500"):
        assert f"`{sentence}`" in PAGE
        assert sentence in learned.out
    python = re.search(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[1]
    said = []
    exec(python, {"sqrl": package, "print": said.append})
    assert str(said[0]) in " ".join(shown.split())


def orders(n_rows=4000):
    """A table with every column that the templates of the page name."""
    rng = np.random.default_rng(0)
    country = rng.choice(["NO", "PT"], n_rows)
    age, price = rng.integers(20, 70, n_rows), rng.uniform(1, 9, n_rows).round(2)
    quantity, income = rng.integers(1, 5, n_rows), 900 * age + rng.normal(0, 900, n_rows)
    ordered = [date(2026, 1, 1) + timedelta(int(day)) for day in rng.integers(0, 300, n_rows)]
    days = rng.integers(1, 9, n_rows)
    return {
        "id": np.arange(n_rows),
        "country": country,
        "currency": np.where(country == "NO", "NOK", "EUR"),
        "city": rng.choice(["Oslo", "Porto", "Turin"], n_rows),
        "age": age,
        "price": price,
        "quantity": quantity,
        "total": price * quantity,
        "income": income,
        "loan": income * rng.uniform(0.1, 0.6, n_rows),
        "phone": [None if one < 0.2 else "1" for one in rng.random(n_rows)],
        "owner": rng.choice(["yes", "no"], n_rows),
        "repaid": rng.choice(["yes", "no"], n_rows, p=[0.8, 0.2]),
        "ordered": ordered,
        "shipped": [day + timedelta(int(more)) for day, more in zip(ordered, days, strict=True)],
    }


def test_every_template_of_the_page_is_learned():
    """Each gives a rule from rows that it fits."""
    table = PAGE.split("## I know what should hold")[1].split("```")[0]
    templates = re.findall(r"^\| .* \| `(.*)` \|$", table, flags=re.MULTILINE)
    schema = {"let": {"C": "values(country)"}, "rules": templates}
    rules = package.learn(package.as_table(orders()), schema)

    assert len(templates) > 10
    assert set(rules.to_arrow()["template"].to_pylist()) == set(range(len(templates)))


def test_the_schema_of_the_page_is_one():
    """What it says to put into a file can be learned with."""
    schema = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)[1])

    assert len(package.learn(package.as_table(orders()), schema)) == 4
