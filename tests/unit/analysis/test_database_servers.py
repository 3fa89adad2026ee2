"""What must be installed for a database of the study to be there."""

import os
import pwd
import shutil
from typing import NoReturn

import pytest

from ddlsim.analysis.databases import servers

CORE = ("mariadbd", "mariadb-install-db")


@pytest.fixture
def extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything of the extra `real` is there."""
    monkeypatch.setattr(servers, "find_spec", lambda name: name)


def no_account(name: str) -> NoReturn:
    raise KeyError(name)


@pytest.mark.usefixtures("extras")
@pytest.mark.parametrize(
    ("programs", "gone"),
    [
        ((), "mariadbd, mariadb-install-db, my_print_defaults"),
        (CORE[:1], "mariadb-install-db, my_print_defaults"),
        (CORE, "my_print_defaults"),
    ],
)
def test_a_part_of_mariadb_is_not_all_of_it(
    programs: tuple[str, ...], gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its core package has the first two: the second then failed, in the middle of a study."""
    monkeypatch.setattr(shutil, "which", lambda name: name if name in programs else None)
    assert servers.lacking("mariadb") == f"the package mariadb-server ({gone} on PATH)"


@pytest.mark.usefixtures("extras")
def test_as_root_mariadb_needs_the_account_of_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(pwd, "getpwnam", no_account)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    told = "the package mariadb-server (the account mysql, since this runs as root)"
    assert servers.lacking("mariadb") == told
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert servers.lacking("mariadb") == ""
