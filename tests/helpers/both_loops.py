"""A fixture for tests of kernels: each runs twice, on the plain loops and on the compiled ones."""

import os

import pytest

from sqrl._kernels.dispatch import VARIABLE


@pytest.fixture(params=["plain", "compiled"], autouse=True, scope="module")
def loops_of(request):
    """The loops that the kernels of a module are tested with."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = request.param
    yield request.param
    if before is None:
        del os.environ[VARIABLE]
    else:
        os.environ[VARIABLE] = before
