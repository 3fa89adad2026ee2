"""Sweeps that several tests draw from, made once."""

from pathlib import Path

import pytest

from tests.support.drawn import EVERYTHING, TWO, swept


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep with every axis that a figure asks for."""
    return swept(tmp_path_factory.mktemp("everything"), EVERYTHING)


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over two axes and two designs."""
    return swept(tmp_path_factory.mktemp("two"), TWO)
