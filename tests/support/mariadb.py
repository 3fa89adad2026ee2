"""A MariaDB server in a temporary folder, for tests where its programs are installed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import until

INSTALLED = all(shutil.which(name) for name in ("mariadbd", "mariadb-install-db"))
ACCOUNT = "mysql"
"""The account of the server where the tests run as root."""


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server without a network, ended after the block."""
    folder = Path(tempfile.mkdtemp())
    data, socket = folder / "data", folder / "socket"
    try:
        account = [f"--user={ACCOUNT}"] if os.geteuid() == 0 else []
        if account:
            shutil.chown(folder, ACCOUNT)
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
             "--auth-root-authentication-method=normal", *account],
            check=True, capture_output=True,
        )  # fmt: skip
        process = subprocess.Popen(
            ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}",
             "--skip-networking", f"--pid-file={folder}/pid", "--skip-log-bin",
             "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", *account],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until(socket.exists, "the socket of MariaDB", lambda: process.poll() is None)
            yield f"mariadb+pymysql://root@localhost/?unix_socket={socket}"
        finally:
            process.terminate()
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def made_by_recorders(url: str) -> list[str]:
    """The databases of a server that recorders have made, and not dropped."""
    import pymysql

    connection = pymysql.connect(unix_socket=url.partition("unix_socket=")[2], user="root")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW DATABASES LIKE 'ddlsim%'")
            return [str(row[0]) for row in cursor.fetchall()]
    finally:
        connection.close()
