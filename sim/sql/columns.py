"""The grammar of columns: types, constants, keys and constraints."""

from sys import float_info
from typing import Final, NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

from ddlsim.model.ddl import ColumnSpec, ConstraintSpec, Reference
from ddlsim.model.schema import (
    DEFAULT_DECIMAL_PRECISION,
    DEFAULT_LENGTH,
    DEFAULT_TIME_PRECISION,
    ColumnType,
    Value,
)
from ddlsim.sql.conditions import Said, said_of
from ddlsim.sql.reader import Reader

_TYPES: Final = {
    **{word: word for word in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE")},
    **{word: word for word in ("BOOLEAN", "DATE", "UUID", "VARCHAR", "VARBINARY", "DECIMAL")},
    **{word: word for word in ("TIME", "TIMESTAMP")},
    "INT": "INTEGER",
    "FLOAT": "REAL",
    "DOUBLE PRECISION": "DOUBLE",
    "CHAR VARYING": "VARCHAR",
    "CHARACTER VARYING": "VARCHAR",
    "BINARY VARYING": "VARBINARY",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
}
"""Each type by the names that it has in SQL."""

_LARGEST: Final = float_info.max
_LENGTH: Final = ("a length", 1, 2**31 - 1)
_PRECISION: Final = ("a precision", 1, DEFAULT_DECIMAL_PRECISION)
_SCALE: Final = ("a scale", 0, 16383)
_TIME_PRECISION: Final = ("a precision", 0, 9)

_WORDS: Final[dict[str, Value]] = {"NULL": None, "TRUE": True, "FALSE": False}
_TYPED: Final = ("DATE", "TIME", "TIMESTAMP", "UUID")
"""Types whose constants are a word and a string."""

_FUNCTIONS: Final = {
    "RAND_UUID": "rand_uuid",
    "GEN_RANDOM_UUID": "gen_random_uuid",
    "CURRENT_TIMESTAMP": "current_timestamp",
    "LOCALTIMESTAMP": "localtimestamp",
    "CURRENT_DATE": "current_date",
    "LOCALTIME": "localtime",
}
"""Functions that may compute a default, by the word that calls them."""
_DEEDS: Final = (("NO", "ACTION"), ("CASCADE",), ("RESTRICT",), ("SET", "NULL"), ("SET", "DEFAULT"))
"""What becomes of a row that refers to a row that is deleted or changed."""


class Defined(NamedTuple):
    """A column definition, with the key and constraints that it declares."""

    spec: ColumnSpec
    constraints: list[ConstraintSpec]
    is_key: bool
    null: Token | None
    """Where it says NULL."""


def _foreign(
    name: str | None, text: str, columns: tuple[str, ...], references: Reference
) -> ConstraintSpec:
    return ConstraintSpec(name or "", "foreign", text, reads=columns, references=references)


class Columns(Reader):
    """Reads the parts of a table between the parentheses of CREATE TABLE, or after ADD."""

    def column_type(self) -> ColumnType:
        """A type; what it leaves open is filled in, so that equal types are equal records."""
        name = _TYPES[self.word("a type", *_TYPES)]
        if name in {"VARCHAR", "VARBINARY"}:
            return ColumnType(name, length=[*self._sizes(_LENGTH), DEFAULT_LENGTH][0])
        if name == "DECIMAL":
            sizes = self._sizes(_PRECISION, _SCALE) or [DEFAULT_DECIMAL_PRECISION]
            precision, scale, *_ = [*sizes, 0]
            return ColumnType(name, precision=precision, scale=scale)
        if name not in DEFAULT_TIME_PRECISION:
            return ColumnType(name)
        sizes = self._sizes(_TIME_PRECISION)
        if name == "TIMESTAMP" and self._match_text_seq("WITH"):
            self.need("LOCAL", "TIME", "ZONE")
            name += " WITH LOCAL TIME ZONE"
            sizes = sizes or self._sizes(_TIME_PRECISION)
        else:
            self._match_text_seq("WITHOUT", "TIME", "ZONE")
        return ColumnType(name, precision=[*sizes, DEFAULT_TIME_PRECISION[name]][0])

    def _sizes(self, *sizes: tuple[str, int, int]) -> list[int]:
        """Numbers in parentheses, if there are any; the later ones may be left out."""
        numbers: list[int] = []
        for size in sizes:
            if self._match(TokenType.COMMA if numbers else TokenType.L_PAREN):
                numbers.append(self.whole(*size))
        if numbers:
            self.need(")")
        return numbers

    def constant(self) -> Value:
        """NULL, TRUE, FALSE, a number, a string, a binary string or a date-time."""
        if self._match_texts(_WORDS):
            return _WORDS[self._prev.text.upper()]
        if self._match_set((TokenType.STRING, TokenType.HEX_STRING)):
            return self._prev.text
        if self._match_texts(_TYPED):
            return self.literal(TokenType.STRING, f"a string after {self._prev.text.upper()}")
        sign = -1 if self._match_texts(("+", "-")) and self._prev.text == "-" else 1
        start = self._curr
        digits = self.literal(TokenType.NUMBER, "a constant")
        try:
            value = int(digits) if digits.isdecimal() else float(digits)
        except ValueError:  # no digit after the E, or thousands of them
            raise self.wrong("a number", at=start) from None
        if not -_LARGEST <= value <= _LARGEST:  # nor is NaN, and a whole number may be any
            raise self.wrong("a number that can be stored", at=start)
        return sign * value

    def default(self) -> tuple[Value, str]:
        """A constant, or the function that computes one for each row; the other is empty."""
        if not self._match_texts(_FUNCTIONS):
            return self.constant(), ""
        name = _FUNCTIONS[self._prev.text.upper()]
        if self.sees(TokenType.L_PAREN):
            self.need("(", ")")
        return None, name

    def column(self) -> Defined:
        """A name, a type, and in any order NULL or NOT NULL, DEFAULT, PRIMARY KEY, constraints."""
        name, written_type = self.name(), self.column_type()
        said: dict[str, Token] = {}
        constraints: list[ConstraintSpec] = []
        nullable, default, computed = True, None, ""
        while start := self._curr:
            part = "NULL"
            if self._match_text_seq("NOT"):
                self.need("NULL")
                nullable = False
            elif self._match_text_seq("DEFAULT"):
                part = "DEFAULT"
                default, computed = self.default()
            elif self._match_text_seq("PRIMARY"):
                part = "KEY"
                self.need("KEY")
                self.using()
            elif not self._match_text_seq("NULL"):
                constraint = self._constraint_of_column(name)
                if constraint is None:
                    break
                constraints.append(constraint)
                continue
            if part in said:
                raise self.wrong("another part of the column", "said twice", start)
            said[part] = start
        given = "DEFAULT" in said
        spec = ColumnSpec(name, written_type, nullable, given, default, computed)
        return Defined(spec, constraints, "KEY" in said, said.get("NULL") if nullable else None)

    def _constraint_of_column(self, column: str) -> ConstraintSpec | None:
        """[CONSTRAINT name] CHECK, UNIQUE or REFERENCES behind a column, if it comes next."""
        name, start = self._constraint_name(), self._curr
        if self._match_text_seq("CHECK"):
            said = self._check()
            return ConstraintSpec(name or "", "check", self.text_since(start), *said)
        if self._match_text_seq("UNIQUE"):
            return ConstraintSpec(name or "", "unique", f"UNIQUE ({column})", (column,))
        if self._match_text_seq("REFERENCES"):
            references = self._referenced()
            text = f"FOREIGN KEY ({column}) {self.text_since(start)}"
            return _foreign(name, text, (column,), references)
        if name is not None:
            raise self.wrong("CHECK, UNIQUE or REFERENCES")
        return None

    def constraint(self) -> ConstraintSpec | tuple[str, ...] | None:
        """[CONSTRAINT name] and a constraint of a table, or the columns of its PRIMARY KEY."""
        name, start = self._constraint_name(), self._curr
        if self._match_text_seq("PRIMARY"):
            self.need("KEY")
            self.using()
            return self.sorted_columns()
        if self._match_text_seq("CHECK"):
            said = self._check()
            return ConstraintSpec(name or "", "check", self.text_since(start), *said)
        if self._match_text_seq("UNIQUE"):
            columns = tuple(self.listed(self.name))
            return ConstraintSpec(name or "", "unique", self.text_since(start), columns)
        if self._match_text_seq("FOREIGN"):
            self.need("KEY")
            columns = tuple(self.listed(self.name))
            self.need("REFERENCES")
            references = self._referenced()
            return _foreign(name, self.text_since(start), columns, references)
        if name is None:
            return None
        raise self.wrong("CHECK, UNIQUE, FOREIGN KEY or PRIMARY KEY")

    def _constraint_name(self) -> str | None:
        return self.name("a constraint name") if self._match(TokenType.CONSTRAINT) else None

    def _check(self) -> Said:
        """An expression in parentheses, as `said_of` reads it.

        An error if sqlglot cannot parse it.
        """
        self.need("(")
        expression = self._parse_disjunction()
        if expression is None:
            raise self.wrong("an expression")
        self.need(")")
        return said_of(expression)

    def _referenced(self) -> Reference:
        """The table that a foreign key refers to, and what happens to its rows."""
        table, columns = self.object_name("a table name"), list[str]()
        if self.sees(TokenType.L_PAREN):
            columns = self.listed(self.name)
        while self._match(TokenType.ON):
            self.word("DELETE or UPDATE", "DELETE", "UPDATE")
            if not any(self._match_text_seq(*deed) for deed in _DEEDS):
                raise self.wrong("NO ACTION, CASCADE, RESTRICT, SET NULL or SET DEFAULT")
        return Reference(table, tuple(columns))

    def using(self) -> None:
        """USING SORTED or HASH, which has no effect here."""
        if self._match(TokenType.USING):
            self.word("SORTED or HASH", "SORTED", "HASH")

    def sorted_columns(self) -> tuple[str, ...]:
        """Column names in parentheses, with directions, which have no effect here."""

        def column() -> str:
            name = self.name()
            self._match_texts(("ASC", "DESC"))
            if self._match_text_seq("NULLS"):
                self.word("FIRST or LAST", "FIRST", "LAST")
            return name

        return tuple(self.listed(column))
