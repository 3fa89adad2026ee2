"""Where the databases of the study are: servers of its own, each ended with it, and new files."""

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from signal import SIGTERM
from typing import Final

from ddlsim.execute.workers import kernel_sees_to_it
from ddlsim.extras import EXTRAS
from ddlsim.record import kept
from ddlsim.record.dialects.base import DATABASES, Database
from ddlsim.record.url import url_of

MARIADB: Final = ("mariadbd", "mariadb-install-db", "my_print_defaults")
"""Its programs; the second one runs the third, which Debian's mariadb-server-core has not."""
ACCOUNT: Final = "mysql"
"""The account of the server where this runs as root."""
START_S: Final = 60.0
TICK_S: Final = 0.02


def lacking(database: str) -> str:
    """What must be installed for a database to be there; nothing if it is."""
    if database == "sqlite":
        return ""
    if gone := [name for name in EXTRAS["real"] if find_spec(name) is None]:
        return f"the extra real ({', '.join(gone)})"
    if database == "mariadb" and (gone := [name for name in MARIADB if not shutil.which(name)]):
        return f"the package mariadb-server ({', '.join(gone)} on PATH)"
    if database == "mariadb" and os.geteuid() == 0 and not _has_account():
        return f"the package mariadb-server (the account {ACCOUNT}, since this runs as root)"
    return ""


def _has_account() -> bool:
    try:
        pwd.getpwnam(ACCOUNT)
    except KeyError:
        return False
    return True


class Servers:
    """Servers that are started when they are first asked for, and a folder for files, which is gone
    in the end, whatever ends this process.
    """

    def __init__(self, until: ExitStack) -> None:
        self._until = until
        self.folder = until.enter_context(kept.folder())
        self._urls: dict[str, str] = {}
        self._files = 0

    def url(self, database: str) -> str:
        """The URL of a database; of a new file where it is in one."""
        if database in {"sqlite", "duckdb"}:
            self._files += 1
            return f"{database}:///{self.folder}/{self._files}.{database}"
        if database not in self._urls:
            start = {"postgresql": _postgresql, "mariadb": mariadb}[database]
            self._urls[database] = self._until.enter_context(start())
        return self._urls[database]

    def database(self, database: str) -> Database:
        """The database itself."""
        url = url_of(self.url(database))
        return DATABASES.get(url.drivername)(url, prepared=False)


@contextmanager
def servers() -> Iterator[Servers]:
    """Servers that end with the block."""
    with ExitStack() as until:
        yield Servers(until)


@contextmanager
def _postgresql() -> Iterator[str]:
    with kept.server() as server:
        yield f"postgresql+psycopg://postgres@/postgres?host={server.socket}"


@contextmanager
def mariadb() -> Iterator[str]:
    """The URL of a MariaDB server in a temporary folder, without a network."""
    with kept.folder() as folder:
        data, socket = folder / "data", folder / "socket"
        account = ACCOUNT if os.geteuid() == 0 else None
        if account is not None:
            shutil.chown(folder, account)
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
             "--auth-root-authentication-method=normal",
             *([f"--user={account}"] if account else [])],
            check=True, capture_output=True,
        )  # fmt: skip
        process = subprocess.Popen(
            ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}",
             "--skip-networking", f"--pid-file={folder}/pid", "--skip-log-bin",
             "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=account,
            preexec_fn=partial(kernel_sees_to_it, SIGTERM),  # noqa: PLW1509 - no threads here
        )  # fmt: skip
        try:
            limit = time.monotonic() + START_S
            while not socket.exists():
                if process.poll() is not None or time.monotonic() > limit:
                    raise RuntimeError("MariaDB's server did not start")
                time.sleep(TICK_S)
            yield f"mariadb+pymysql://root@localhost/?unix_socket={socket}"
        finally:
            process.terminate()
            process.wait()
