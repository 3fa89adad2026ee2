"""Connections as SQLAlchemy makes them: it imports the driver, connects and sends statements.

It opens no transaction of its own, sends nothing where a connection ends, and never puts a new
connection in the place of a lost one: what is recorded is what was sent.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.pool import NullPool

from ddlsim.record.url import UrlError, without_secrets

logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())
"""Where a lost connection is closed, its pool would show a traceback on stderr."""


def engine_of(url: URL, arguments: Mapping[str, Any]) -> Engine:
    """An engine; `arguments` are for the driver, those aside that the URL has.

    Raises `UrlError`, now or where it connects, for parameters that the driver does not have.
    """
    with _read(url):
        made = create_engine(
            url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            skip_autocommit_rollback=True,
            hide_parameters=True,
            execution_options={"no_parameters": True},  # a % in a statement without values is one
            connect_args={name: one for name, one in arguments.items() if name not in url.query},
        )

    def connect(dialect: Any, _: Any, args: Any, named: Any) -> Any:
        with _read(url):
            return dialect.connect(*args, **named)

    event.listen(made, "do_connect", connect)
    event.listen(made, "handle_error", _left_lost)
    return made


@contextmanager
def _read(url: URL) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        why = without_secrets(url, " ".join(str(error).split()))
        raise UrlError(f"a parameter of the database's URL is wrong ({why})") from None


def _left_lost(context: ExceptionContext) -> None:
    context.is_disconnect = False
