"""Bodies that are formulas of their own, measured in blocks."""

import numpy as np
import pytest

import sqrl
from sqrl._learn.bounds import logic

SCHEMA = {
    "let": {"B": ["a", "b", "c"]},
    "rules": ["? <= precision(B > 0 => y = 1) <= ? over 32"],
    "validate": False,
}


@pytest.mark.parametrize("at_once", [1, 2])
def test_rules_are_the_same_however_many_bodies_a_block_has(at_once, monkeypatch):
    """Each rule has the body of its own block, not that of another."""
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=400) for name in "abc"}
    columns["y"] = (columns["a"] + columns["b"] > 0).astype(float)
    together = sqrl.learn(columns, SCHEMA)
    monkeypatch.setattr(logic, "MOST_FEATURES", at_once)

    assert [text.partition("(")[2][:5] for text in together.texts()] == ["a > 0", "b > 0", "c > 0"]
    assert sqrl.learn(columns, SCHEMA).texts() == together.texts()
