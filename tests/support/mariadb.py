"""A MariaDB server in a temporary folder, for tests where its programs are installed."""

from collections.abc import Sequence
from typing import Any

from ddlsim.analysis.databases.servers import lacking, mariadb

INSTALLED = not lacking("mariadb")
server = mariadb


def made_by_recorders(url: str) -> list[str]:
    """The databases of a server that recorders have made, and not dropped."""
    return [str(row[0]) for row in _asked(url, "SHOW DATABASES LIKE 'ddlsim%'")]


def statements(url: str) -> dict[str, int]:
    """How many statements of each kind a server has been sent, by their counters."""
    found = _asked(url, "SHOW GLOBAL STATUS LIKE 'Com\\_%'")
    return {str(name): int(count) for name, count in found}


def _asked(url: str, sql: str) -> Sequence[Sequence[Any]]:
    import pymysql

    connection = pymysql.connect(unix_socket=url.partition("unix_socket=")[2], user="root")
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            found: Sequence[Sequence[Any]] = cursor.fetchall()
            return found
    finally:
        connection.close()
