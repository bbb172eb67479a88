"""The benchmarks of units measure what they say, and their page is what the results make it."""

from pathlib import Path

import numpy as np

from rendered import render

ROOT = Path(__file__).parents[2]


def test_levels_of_units_hold_where_those_of_rows_do_not():
    """A small run of the simulation."""
    import unit_levels

    line = unit_levels.measure("means, lognormal sizes", 60, 20, 200)

    assert line["by_unit"][0] < 2
    assert line["by_row"][0] > 4


def test_a_made_up_table_of_units_is_measured():
    """Clean and changed halves, with units and without."""
    import pandas as pd

    import units
    from unit_tables import UnitTable

    rng = np.random.default_rng(0)
    image = np.repeat(np.arange(800), 4)
    width = rng.normal(size=800)[image] + 0.1 * rng.normal(size=3200) + 10
    kind = np.where(np.arange(3200) % 3 == 0, "Van", "Car")
    rows = pd.DataFrame({"image": image, "type": kind, "width": width})
    table = UnitTable("made up", rows, ("image",), "type", "Car", "width")
    line = units.measure(table, 2)

    assert (line["units"], line["splits"]) == (800, 2)
    assert line["clean_by_rows"] >= line["clean_by_units"]
    assert not line["errors"]


def test_the_page_of_units_is_what_its_results_make_it(tmp_path):
    """No figure is typed by hand."""
    render("render_units", "--docs", tmp_path)

    page = (tmp_path / "units-results.md").read_text()
    assert page == (ROOT / "docs" / "units-results.md").read_text()
