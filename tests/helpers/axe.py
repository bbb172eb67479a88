"""What axe-core says of a page: faults that keep people from using it."""

import os
from importlib.resources import files
from pathlib import Path

import pytest

from browser import set_colours

RUN = """
const done = arguments[arguments.length - 1], only = arguments[0];
const options = { resultTypes: ["violations"], ...(only && { runOnly: only }) };
axe.run(document, options).then((found) => done(
  found.violations.filter((one) => ["serious", "critical"].includes(one.impact)).flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.target.flat().join(" ")}: ${node.any[0]?.message}`))
), (error) => done([String(error)]));
"""


def serious_faults(driver):
    """Every serious or critical fault of the page that is open, and of its colours in the dark.

    SQRL_AXE may name another axe.min.js, such as that of a newer version.
    """
    pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    own = files("axe_core_python").joinpath("axe.min.js")
    script = Path(os.environ.get("SQRL_AXE", str(own))).read_text(encoding="utf-8")
    driver.execute_script(script)
    found = driver.execute_async_script(RUN, None)
    set_colours(driver, "dark")
    found += driver.execute_async_script(RUN, ["color-contrast"])
    set_colours(driver, "light")
    return found
