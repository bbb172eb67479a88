"""Reports: what they hold, that data stays data, and what they cost."""

import html
import json
import re

import numpy as np
import pytest

import sqrl
from made_reports import (
    HOSTILE,
    check_detections,
    demo_detections,
    demo_rules,
    hostile_result,
    many_rules,
)
from sqrl.errors import DataError, LimitError, OutputError
from sqrl.report import write_report
from sqrl.report._drawing import Dots, RightWrong, count_in_bins, wants_log
from sqrl.report._markdown import code, plain_text
from sqrl.report._page import build_page, embed_json
from sqrl.report._story import story


@pytest.fixture(scope="module")
def rules():
    return demo_rules()


@pytest.fixture(scope="module")
def violations(rules):
    return check_detections(rules, demo_detections(), with_probabilities=True)


def written(violations, path, **options):
    """The text of a report."""
    write_report(violations, path, **options)
    return path.read_text(encoding="utf-8")


def data_of(page):
    """The data embedded in a page."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found)


# --- The page ---------------------------------------------------------------------------------


def test_the_page_is_one_file_that_needs_nothing_else(violations, tmp_path):
    """No address, no import, no link: it can be mailed and opened offline."""
    page = written(violations, tmp_path / "report.html")
    shell = page.replace(re.search(r'id="data">(.*?)</script>', page, re.S)[1], "")
    shell = shell.replace("http://www.w3.org/2000/svg", "")  # a name, not an address

    assert "://" not in shell
    assert not re.search(r"<(link|img|iframe|base|object)\b|@import|url\(", shell)
    assert page.startswith("<!doctype html>")


def test_the_policy_allows_only_the_page_s_own_style_and_script(violations, tmp_path):
    """Nothing may be loaded, and no script but one may run."""
    page = written(violations, tmp_path / "report.html")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)

    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; ")
    assert len(re.findall(r"'sha256-[\w+/]{43}='", policy)) == 2
    assert "unsafe" not in policy


def test_the_data_has_each_rule_with_its_numbers(violations, tmp_path):
    """What the page shows is what check counted."""
    data = data_of(written(violations, tmp_path / "report.html"))

    assert data["rules"]["broken"] == violations.broken.tolist()
    assert data["rules"]["applicable"] == violations.applicable.tolist()
    assert data["rules"]["significant"] == violations.significant.astype(int).tolist()
    assert data["totals"]["violations"] == violations.total
    assert sorted(data["order"]) == list(range(len(violations)))
    full = zip(data["rules"]["full"], data["rules"]["text"], strict=True)
    assert [a or b for a, b in full] == violations.rules.texts()


def test_findings_come_first(rules, tmp_path):
    """On the page, in Markdown and in a notebook: the sentences that the library says."""
    violations = sqrl.check(rules, demo_detections())
    findings = violations.findings()
    page = data_of(written(violations, tmp_path / "report.html"))["findings"]
    text = written(violations, tmp_path / "report.md")
    notebook = violations._repr_html_()

    assert findings
    assert [one["text"] for one in page] == [finding.text for finding in findings]
    assert [one["rules"] for one in page] == [list(finding.rules) for finding in findings]
    assert text.index(plain_text(findings[0].text)) < text.index("violations of")
    assert notebook.startswith(f"<ol><li>{html.escape(findings[0].text)}</li>")


def test_a_clean_result_says_that_nothing_was_found(rules, tmp_path):
    """An empty space would leave a reader in doubt."""
    clean = sqrl.check(rules, sqrl.demo_table(4096, seed=3))
    told = "No findings: nothing that the rules watch has changed beyond chance."

    assert clean.findings() == ()
    assert data_of(written(clean, tmp_path / "report.html"))["nothing"] == told
    assert plain_text(told) in written(clean, tmp_path / "report.md")


def test_every_kind_of_rule_has_a_drawing(violations, tmp_path):
    """Bins for values, one set for each piece; dots for mini-batches; a bar for a class."""
    data = data_of(written(violations, tmp_path / "report.html"))
    for index in range(len(violations)):
        form, drawn = violations.rules.form(index), data["drawings"][str(index)]
        if form.kind == "class":
            assert sum(drawn["bar"]) == violations.applicable[index]
        elif form.kind == "logic":
            assert len(drawn["dots"]) == violations.applicable[index]
        else:
            assert len(drawn["bins"]) == len(form.pieces)
            counts = [sum(bins["counts"]) for bins in drawn["bins"]]
            assert sum(counts) == violations.applicable[index]


def test_red_bins_hold_exactly_the_broken_rows(violations, tmp_path):
    """Bounds are edges of bins, so the colours tell the truth."""
    data = data_of(written(violations, tmp_path / "report.html"))
    for index in range(len(violations)):
        outside = 0
        for bins in data["drawings"][str(index)].get("bins", []):
            inside = slice(bins["below"], bins["below"] + bins["inside"])
            outside += sum(bins["counts"]) - sum(bins["counts"][inside])
        if violations.rules.form(index).kind == "sample":
            assert outside == violations.broken[index]


def test_examples_are_the_rows_furthest_out_with_the_rule_s_columns_first(violations, tmp_path):
    """A reader sees at once what is wrong with them."""
    examples = data_of(written(violations, tmp_path / "report.html"))["examples"]
    rule = violations.rules.texts().index(
        next(text for text in violations.rules.texts() if "aspect_ratio" in text)
    )
    rows, excess = violations.rows_of(rule)
    found = examples["of"][str(rule)]
    worst = rows[np.argsort(-excess, kind="stable")[:5]]

    assert found["names"] == ["type", "aspect_ratio"]
    assert [row for row, *_ in found["rows"]] == (worst + 1).tolist()
    row, far, (kind, ratio) = found["rows"][0]
    cells = dict(zip(examples["columns"], examples["rows"][str(row)], strict=True))
    assert kind == cells["type"]
    assert ratio == pytest.approx(
        (cells["right"] - cells["left"]) / (cells["bottom"] - cells["top"]), rel=1e-4
    )
    assert far == pytest.approx(excess.max(), rel=0.01)


def test_a_second_result_gives_before_and_after(rules, violations, tmp_path):
    """Its counts stand beside these, and its values are drawn behind."""
    before = sqrl.check(rules, sqrl.demo_table(4096, seed=7))
    data = data_of(written(violations, tmp_path / "report.html", compared=before))

    assert data["rules"]["before"] == before.broken.tolist()
    assert data["before"]["violations"] == before.total
    assert data["behind"] == "before: demo"


def test_reference_rows_are_drawn_behind(rules, violations, tmp_path):
    """A table of good rows, or a result, gives the outline; the counts are left alone."""
    train = sqrl.demo_table(6000)
    from_table = data_of(written(violations, tmp_path / "report.html", reference=train))
    checked = sqrl.check(rules, train)
    from_result = data_of(written(violations, tmp_path / "report.html", reference=checked))

    assert from_table == from_result
    assert from_table["behind"] == "reference: demo"
    assert "before" not in from_table["rules"]
    bins = next(d["bins"][0] for d in from_table["drawings"].values() if "bins" in d)
    assert len(bins["other"]) == len(bins["counts"])


def test_results_of_other_rules_are_not_shown_together(violations, tmp_path):
    """The page would put side by side what does not belong together."""
    other = sqrl.check(sqrl.RuleSet.from_texts(["x <= 1"]), {"x": [0.5]})

    with pytest.raises(DataError) as caught:
        write_report(violations, tmp_path / "report.html", compared=other)

    assert str(caught.value) == (
        "The compared result is about other rules: two results can be shown together only if they "
        "were checked with the same ones.\n"
        "  where: dict\n"
        "  fix:   check both files with one rules file"
    )


def test_an_explanation_is_shown_as_text(violations, tmp_path):
    """What `explain` gives, by its lines; or any text."""

    class Explained:
        def lines(self):
            return ["3 of 9 are wrong", "<b>"]

    page = tmp_path / "report.html"

    assert data_of(written(violations, page, explanation=Explained()))["explanation"] == (
        "3 of 9 are wrong\n<b>"
    )
    assert data_of(written(violations, page, explanation="why"))["explanation"] == "why"


def test_the_same_result_gives_the_same_page(violations, tmp_path):
    """No clock and no chance is in it: reports can be compared."""
    first = written(violations, tmp_path / "a.html")

    assert written(violations, tmp_path / "b.html") == first


@pytest.mark.parametrize("suffix", ["html", "md"])
def test_no_rows_no_rules_and_missing_values_make_a_report(tmp_path, suffix):
    """What there is nothing of is said, not fallen over."""
    rules = sqrl.RuleSet.from_texts(["0 <= x <= 1", "-1 <= mean(x) <= 1 over 2", "x > 0 => k = a"])
    for columns in ({"x": [], "k": []}, {"x": [None, None], "k": [None, None]}):
        assert written(sqrl.check(rules, columns), tmp_path / f"report.{suffix}")
    empty = sqrl.check(rules[:0], {"x": [1.0]})
    assert written(empty, tmp_path / f"report.{suffix}")


# --- Data stays data ----------------------------------------------------------------------------


def test_nothing_of_the_data_is_markup(tmp_path):
    """A hostile string appears only inside the JSON block, where no `<` does."""
    result = hostile_result()
    page = written(result, tmp_path / "report.html", title=HOSTILE[1], explanation=HOSTILE[0])
    embedded = re.search(r'id="data">(.*?)</script>', page, re.S)[1]

    assert not re.search("[<>&\u2028\u2029]", embedded)
    assert page.count("<script") == 2
    assert "hasRun" not in page.replace(embedded, "")
    data = data_of(page)
    assert data["title"] == HOSTILE[1]
    assert HOSTILE[0] in data["examples"]["rows"]["1"]


def test_json_says_the_same_after_escaping():
    """Escapes are JSON's own: the reader gets the very string."""
    assert json.loads(embed_json(list(HOSTILE))) == list(HOSTILE)


def test_hostile_strings_do_nothing_in_markdown(tmp_path):
    """Outside of code there is no tag, and no code span can be left."""
    text = written(hostile_result(), tmp_path / "report.md", title=HOSTILE[2])
    outside = re.sub(r"(`+).*?(?<!`)\1(?!`)", "", text)

    assert set(re.findall("<[^>]*>", outside)) <= {
        "<details>", "</details>", "<summary>", "</summary>",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["a | b", "``` x", "`", "a\n| b |", "\\|", ""])
def test_code_stays_in_its_cell(text):
    """Pipes are escaped, line ends gone, and the fence is longer than any inside."""
    made = code(text)
    fence = re.match("`+", made)[0]

    assert "\n" not in made
    assert not re.search(r"(?<!\\)\|", made)
    assert made.endswith(fence)
    assert fence not in made[len(fence) : -len(fence)]


def test_plain_text_mentions_nobody_and_links_nowhere():
    """Names of columns in a pull request call no one and open nothing."""
    assert plain_text("@team [x](y) #1 <b>") == r"\@team \[x\]\(y\) \#1 &lt;b&gt;"


# --- Markdown -----------------------------------------------------------------------------------


def test_markdown_is_short_and_lists_the_rules_beyond_chance(violations, tmp_path):
    """It fits the description of a pull request."""
    text = written(violations, tmp_path / "report.md")
    rows = [line for line in text.splitlines() if line.startswith("| `")]

    assert len(text.splitlines()) <= 60
    assert len(rows) == violations.n_significant
    assert text.startswith("## Rules checked on detector.csv\n")
    assert f"**{violations.total:,} violations of" in text


def test_markdown_stays_short_with_many_rules(tmp_path):
    """The rest is counted."""
    violations = many_rules(2000, 2000)
    text = written(violations, tmp_path / "report.md")

    assert len(text.splitlines()) <= 60
    assert f"and {violations.n_significant - 30:,} more rules." in text


def test_rules_written_by_hand_are_listed_where_they_are_broken(tmp_path):
    """Chance is not known for them, yet the reader wants to see which."""
    found = sqrl.check(sqrl.RuleSet.from_texts(["x <= 1", "x <= 9"]), {"x": [5.0]})

    assert "| `x <= 1` | 1 | 1 |  |  |" in written(found, tmp_path / "report.md")


# --- The story ----------------------------------------------------------------------------------


def test_the_story_tells_what_chance_does(violations):
    """Expected breaks, the level, what is not known, and which of two counts to believe."""
    told = " ".join(story(violations))

    assert "about 2 % of the samples" in told
    assert "Benjamini-Hochberg procedure at 1 %" in told
    assert f"{violations.n_significant} rules are broken beyond chance" in told
    assert "For 2 rules it is not known" in told
    assert "If the model is calibrated, believe the second count" in told


def test_the_story_of_a_clean_result_raises_no_alarm(rules):
    """Data like the training data is put down to chance."""
    told = " ".join(story(sqrl.check(rules, sqrl.demo_table(4096, seed=3))))

    assert "here none, so what was counted can be put down to chance" in told


# --- Bins ---------------------------------------------------------------------------------------


def test_values_on_a_bound_are_inside():
    """Intervals are closed, also in the drawing."""
    bins = count_in_bins(np.array([1.0, 4.0]), 1.0, 4.0, inside=3, outside=2)

    assert bins.counts[bins.n_below : bins.n_below + bins.n_inside].sum() == 2


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(2.0, 2.0), (-np.inf, 3.0), (3.0, np.inf), (0.0, 1e-300), (-1e308, 1e308), (5.0, 6.0)],
)
@pytest.mark.parametrize(
    "values", [[], [2.0], [2.0, 3.0, 1e300, -1e308], [np.inf, -np.inf, 0.0], [1.0] * 5]
)
def test_bins_count_every_value_whatever_the_bounds(values, lower, upper):
    """Points, open ends, extremes and nothing at all."""
    values = np.array(values)
    bins = count_in_bins(values, lower, upper)
    inside = bins.counts[bins.n_below : bins.n_below + bins.n_inside].sum()

    assert bins.counts.sum() == values.size
    assert inside == np.count_nonzero((values >= lower) & (values <= upper))
    assert np.isfinite([bins.first, bins.width]).all()
    assert bins.width > 0
    assert bins.counts.size <= 40


def test_bounds_far_apart_are_drawn_on_a_logarithmic_scale():
    """Areas of boxes would otherwise all be in the first bin."""
    values = np.array([0.0, -5.0, 1.0, 10.0, 100.0, 5000.0])
    bins = count_in_bins(values, 1.0, 1000.0, is_log=True, inside=3, outside=2)

    assert wants_log(np.array([1.0]), np.array([12.5]))
    assert not wants_log(np.array([1.0]), np.array([12.0]))
    assert bins.counts.tolist() == [2, 0, 1, 1, 1, 1]
    assert bins.first == pytest.approx(-2.0)


def test_many_mini_batches_are_counted_in_bins(tmp_path):
    """Up to forty have a dot each."""
    rules = sqrl.RuleSet.from_texts(["-0.1 <= mean(x) <= 0.1 over 4"])
    values = np.random.default_rng(0).normal(size=400)
    few, many = (sqrl.check(rules, {"x": values[:n]}) for n in (160, 400))
    page = tmp_path / "report.html"

    assert len(data_of(written(few, page))["drawings"]["0"]["dots"]) == 40
    assert sum(data_of(written(many, page))["drawings"]["0"]["bins"][0]["counts"]) == 100


def test_drawings_are_plain_values():
    """What a drawing is made of can be looked at."""
    assert RightWrong(3, 1).other is None
    assert Dots(0.0, None, np.array([1.0])).upper is None


# --- Files, limits, cost --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.html.txt"])
def test_another_suffix_is_refused(violations, tmp_path, name):
    """The suffix says which kind of report is wanted."""
    path = tmp_path / name
    suffix = path.suffix

    with pytest.raises(OutputError) as caught:
        write_report(violations, path)

    assert str(caught.value) == (
        f"A report cannot be written as '{suffix}'.\n"
        f"  where: {path}\n"
        "  fix:   end the name in .html or .md"
    )


def test_a_folder_that_is_missing_is_said_before_any_work(violations, tmp_path):
    """Nobody waits for a report that cannot be written."""
    with pytest.raises(OutputError, match="The folder of the output does not exist"):
        write_report(violations, tmp_path / "no" / "report.html")


def test_a_failure_leaves_the_old_report(violations, tmp_path, monkeypatch):
    """A report is the old one or the new one, never half of it."""
    page = tmp_path / "report.html"
    old = written(violations, page)
    monkeypatch.setattr("sqrl.report._page.MOST_BYTES", 1)
    with pytest.raises(LimitError):
        write_report(violations, page)

    assert page.read_text(encoding="utf-8") == old
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_page_too_large_for_a_browser_is_refused(monkeypatch):
    """The message says how to make it smaller."""
    monkeypatch.setattr("sqrl.report._page.MOST_BYTES", 2**20)
    with pytest.raises(LimitError) as caught:
        build_page({"text": "x" * 3_000_000})

    assert str(caught.value) == (
        "The report would take 3 MiB, more than the 1 MiB that a browser opens with ease.\n"
        "  fix:   check fewer rules, such as rules.filter('support > 100'), or write the result "
        "with --format json"
    )


def test_ten_thousand_rules_make_a_page_of_a_few_megabytes(tmp_path):
    """The 2,000 rules to look at first have drawings."""
    page = written(many_rules(), tmp_path / "report.html")

    assert len(page) < 10_000_000
    assert len(data_of(page)["drawings"]) == 2000


def test_what_a_finding_tells_is_no_note_of_the_page_as_well():
    """A value never seen is said once, and other notes stay."""
    from sqrl.report._text_findings import other_notes

    train = {"c": ["a", "b"] * 300, "x": list(range(600))}
    rules = sqrl.learn(train, {"rules": ["c in ?"], "coverage": 0.9})
    found = sqrl.check(rules, {"c": ["a", "new"] * 100, "x": list(range(200))})

    assert [finding.kind for finding in found.findings()] == ["unseen"]
    assert any("new" in note for note in found.notes)
    assert not any("new" in note for note in other_notes(found))
