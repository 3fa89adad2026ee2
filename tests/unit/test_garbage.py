"""The collector looks seldom within the block, and as before behind it."""

import gc
from collections.abc import Iterator

import pytest

from ddlsim.garbage import COLLECT_AFTER, collected_seldom


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Python's own threshold; that of the tests' processes is the one of the block already."""
    before = gc.get_threshold()
    gc.set_threshold(700, *before[1:])
    yield
    gc.set_threshold(*before)


def test_the_threshold_holds_within_the_block_only() -> None:
    before = gc.get_threshold()
    with collected_seldom():
        assert gc.get_threshold() == (COLLECT_AFTER, *before[1:])
        with collected_seldom():
            assert gc.get_threshold()[0] == COLLECT_AFTER
        assert gc.get_threshold()[0] == COLLECT_AFTER
    assert gc.get_threshold() == before


def test_an_exception_restores_the_threshold() -> None:
    before = gc.get_threshold()
    with pytest.raises(RuntimeError), collected_seldom():
        raise RuntimeError
    assert gc.get_threshold() == before
