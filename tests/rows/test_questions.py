"""Questions that learning asks of rows, and who answers them."""

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqrl._data.table import as_table
from sqrl._rows.questions import MemoryAnswers, together
from sqrl._rows.rows import Rows


class CountAbove:
    """Asks how many rows have an x above a limit."""

    def __init__(self, of, limit):
        self.of, self.limit = of, limit

    def answer(self, rows):
        return int((rows.table["x"].values > self.limit).sum())


def asks(rounds):
    """Asks in rounds, each with its own numbers; gives all the answers."""
    answers = []
    for numbers in rounds:
        answers.append((yield list(numbers)))
    return answers


def drive(asking):
    """The result and what was asked in each round, where every number is answered by its double."""
    asked = []
    try:
        questions = next(asking)
        while True:
            asked.append(questions)
            questions = asking.send([2 * question for question in questions])
    except StopIteration as done:
        return done.value, asked


@settings(deadline=None)
@given(st.lists(st.lists(st.lists(st.integers(), max_size=3), max_size=4), max_size=4))
def test_together_all_get_the_answers_that_they_would_get_alone(everybody):
    """However many rounds each takes, and where some ask nothing."""
    together_results, asked = drive(together(*map(asks, everybody)))

    assert together_results == [drive(asks(rounds))[0] for rounds in everybody]
    assert list(chain.from_iterable(asked)) == [
        number
        for place in range(len(asked))
        for rounds in everybody
        if place < len(rounds)
        for number in rounds[place]
    ]


def test_questions_are_asked_together_so_that_few_rounds_answer_all():
    """As many rounds as the longest takes, not as all take one after the other."""
    _, asked = drive(together(asks([[1], [2]]), asks([[3, 4]]), asks([])))

    assert asked == [[1, 3, 4], [2]]


def test_rows_in_memory_answer_of_the_rows_that_a_question_is_about():
    """Train rows and held-out rows are told apart."""
    train, valid = (Rows(as_table({"x": x}), {}) for x in ([1.0, 2.0, 3.0], [5.0]))

    def ask(limit):
        answers = yield [CountAbove("train", limit), CountAbove("valid", limit)]
        return answers

    assert MemoryAnswers(train, valid).ask([ask(1.5), ask(9.0)]) == [[2, 1], [0, 0]]


def test_nobody_is_asked_of_held_out_rows_that_there_are_not():
    """It would be a mistake of ours."""
    asking = asks([[CountAbove("valid", 0.0)]])

    with pytest.raises(AssertionError):
        MemoryAnswers(Rows(as_table({"x": [1.0]}), {}), None).ask([asking])
