"""The corpus of all that was ever found, a few new cases, and the harness itself."""

import json

import pytest
import run as harness
import targets
from draw import Draw

QUICK = ["language", "schemas", "tables", "boxes"]  # which import and learn little


@pytest.fixture(scope="module", autouse=True)
def _findings_elsewhere(tmp_path_factory):
    """What tests find on purpose does not lie about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(harness, "FINDINGS", tmp_path_factory.mktemp("findings"))
        yield


def replayed(names):
    """What the corpus of some targets finds, and how many cases it has."""
    tallies = harness.campaign(names, 0, 0, replay=True)
    return [t.findings for t in tallies.values() if t.findings], [t.cases for t in tallies.values()]


def test_nothing_of_the_corpus_is_found_again():
    """Each case was a fault once."""
    assert replayed(QUICK) == ([], [len(harness.kept_cases(name)) for name in QUICK])


@pytest.mark.usefixtures("_slowly")
def test_nothing_of_the_whole_corpus_is_found_again():
    """Also of what takes longer: exports, commands, models."""
    findings, cases = replayed(list(targets.TARGETS))

    assert findings == []
    assert sum(cases) >= 60


def test_new_cases_find_nothing():
    """A few of some targets; `make fuzz SECONDS=600` runs many of all."""
    tallies = harness.campaign(QUICK, 0.8, 0)

    assert [tally.findings for tally in tallies.values() if tally.findings] == []
    assert all(tally.cases for tally in tallies.values())


@pytest.mark.usefixtures("_slowly")
def test_new_cases_of_every_target_find_nothing():
    """With another seed than `make fuzz` has by default."""
    tallies = harness.campaign(list(targets.TARGETS), 30.0, 2)

    assert [tally.findings for tally in tallies.values() if tally.findings] == []


@pytest.mark.parametrize("name", [*QUICK, "command_line"])
def test_a_case_is_plain_and_made_of_its_seed_alone(name):
    """Else a finding could be neither kept nor run again."""
    module = targets.target(name)
    first, again = (module.make(Draw("0 x 3")) for _ in range(2))

    assert json.loads(json.dumps(first)) == first
    assert first == again


class Target:
    """A target whose cases do what their number says."""

    SAID = ("raise ValueError", "crash", "hang", "memory", "wrong", "refuse", "answer")

    @staticmethod
    def make(draw):
        return {"do": Target.SAID[int(draw.seeded)]}

    @staticmethod
    def run(case, folder):
        import os
        import signal

        from sqrl.errors import DataError

        if case["do"] == "raise ValueError":
            raise ValueError("a fault")
        if case["do"] == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if case["do"] == "hang":
            while True:
                pass
        if case["do"] == "memory":
            bytearray(harness.LIMIT_BYTES * 2)
        if case["do"] == "wrong":
            targets.expect(case == {}, "a wrong answer")
        if case["do"] == "refuse":
            raise DataError("no")
        (folder / "x").write_text("")


def test_the_harness_notices_every_kind_of_fault(monkeypatch):
    """A harness that finds nothing may see nothing."""

    class Numbered:
        def __init__(self, text):
            self.seeded = text.split()[-1]

    monkeypatch.setattr(harness, "LIMIT_CPU", 0.3)
    monkeypatch.setattr(targets, "target", lambda _: Target)
    monkeypatch.setattr(harness, "Draw", Numbered)
    tally = harness.Tally()
    first = 0
    while first < len(Target.SAID):
        first = harness.run_child("x", 0, first, 1e-9, tally)

    said = [finding["said"] for finding in tally.findings.values()]
    assert tally.cases == 7
    assert tally.refused == 1
    assert [one.partition(" at ")[0].partition(":")[0] for one in said] == [
        "ValueError",
        "the process died",
        "HangError",
        "MemoryError",
        "WrongError",
    ]
