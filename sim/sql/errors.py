"""The exception of the SQL front end: what is wrong with a text, and where."""

from sqlglot.errors import ParseError


class SqlError(Exception):
    """A text that is not SQL as understood here; line and column count from 1."""

    def __init__(self, message: str, line: int, column: int, expected: str) -> None:
        super().__init__(message, line, column, expected)
        self.message = message
        self.line = line
        self.column = column
        self.expected = expected

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}; expected {self.expected}"


class Unread(ParseError):  # noqa: N818 - never leaves this package
    """The same inside of this package, by offset; sqlglot may catch it and try something else."""

    def __init__(self, message: str, offset: int, expected: str) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.expected = expected
