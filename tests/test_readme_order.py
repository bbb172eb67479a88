"""README explains its words before it uses them."""

import re

import pytest

from code_blocks import ROOT

# Words of the glossary that README uses as anybody would; the pages say more.
PLAIN = {
    "accept", "adapted", "alarm", "annotation", "decision", "engine", "evidence", "history",
    "learned", "method", "order", "part", "reference", "relation", "table",
}  # fmt: skip
# Words of the field that are no entries of the glossary.
MORE = ("label",)


def glossary():
    """The words of the glossary, each by itself."""
    cells = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    words = {word for cell in cells for word in re.sub(r" \(.*?\)", "", cell).split(", ")}
    return words - {"word", "---"}


def prose():
    """README without code, comments, and the addresses of links."""
    text = (ROOT / "README.md").read_text()
    for left_out in (r"<!--.*?-->", r"```.*?```", r"`[^`]*`", r"(?<=\])\([^)]*\)"):
        text = re.sub(left_out, "", text, flags=re.DOTALL)
    return text


def first_use(word, text):
    """The first use of a word, with one letter on either side of it."""
    return re.search(rf".?(?<!\w){re.escape(word)}s?(?!\w).?", text, re.IGNORECASE | re.DOTALL)


@pytest.mark.parametrize("word", sorted(glossary() - PLAIN) + list(MORE))
def test_a_term_is_set_apart_where_readme_uses_it_first(word):
    """In italics, which is where it is explained; people read that, a test cannot."""
    used = first_use(word, prose())

    assert used is None or (used[0][0], used[0][-1]) == ("*", "*"), used


def test_plain_words_are_used_and_in_the_glossary():
    """The list of exceptions does not outlive its use; and a word out of order would be noticed."""
    assert glossary() >= PLAIN
    assert all(first_use(word, prose()) for word in PLAIN)
    assert first_use("rule", "Broken rules. A *rule* is a sentence.")[0] == " rules."
