"""Tables as plain rows by column name: what clients of a layer must see, one thing at a time."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ddlsim.model.reasons import Reason

Row = dict[str, Any]
NOT_GIVEN: Final = object()


class Shown(NamedTuple):
    """What an operation answers: its rows by key, and whether it was done."""

    rows: dict[Any, Row]
    done: bool = True


class Sheet:
    """A table: its columns with their defaults, its rows by key, its indexes by name.

    An index is over some columns, and may be unique; `required` are columns without NULL, `texts`
    those that hold text, `floats` those whose numbers are floating-point.
    """

    def __init__(self, name: str, key: tuple[str, ...], **defaults: Any) -> None:
        self.name = name
        self.key = key
        self.defaults: Row = {**dict.fromkeys(key), **defaults}
        self.rows: dict[Any, Row] = {}
        self.indexes: dict[str, tuple[tuple[str, ...], bool]] = {}
        self.required: set[str] = set(key)
        self.texts: set[str] = set()
        self.floats: set[str] = set()

    def copy(self) -> "Sheet":
        """The same table, to be changed apart."""
        found = Sheet(self.name, self.key)
        found.defaults, found.indexes = dict(self.defaults), dict(self.indexes)
        found.rows = {key: dict(row) for key, row in self.rows.items()}
        found.texts, found.required = set(self.texts), set(self.required)
        found.floats = set(self.floats)
        return found

    # --- operations -------------------------------------------------------------------------------

    def get(self, key: Any) -> Shown:
        """The row of a key."""
        return Shown({key: self.rows[key]} if key in self.rows else {})

    def find(self, wanted: Row) -> Shown:
        """The rows with these values; NULL equals nothing."""
        if None in wanted.values():
            return Shown({})
        found = {
            key: row
            for key, row in self.rows.items()
            if all(row[name] == value for name, value in wanted.items())
        }
        return Shown(found)

    def write(self, action: str, key: Any, values: Row, *, strict: bool) -> Shown | Reason:
        """One write: what it answers, or why it is refused."""
        old = self.rows.get(key)
        if action == "delete":
            self.rows.pop(key, None)
            return Shown({})
        if action != "put" and (old is None) != (action == "insert"):
            return Reason.KEY_EXISTS if strict else Shown({}, done=False)
        own = dict(zip(self.key, key if isinstance(key, tuple) else (key,), strict=True))
        before = self.defaults if action != "update" or old is None else old
        new = {**before, **own, **values}
        for name in self.floats:
            new[name] = None if new[name] is None else float(new[name])
        if any(new[name] is None for name in self.required):
            return Reason.BAD_ROW
        others = [row for one, row in self.rows.items() if one != key]
        if any(repeated(new, others, columns) for columns in self.unique()):
            return Reason.UNIQUE_VIOLATED
        self.rows[key] = new
        return Shown({})

    def unique(self) -> Iterable[tuple[str, ...]]:
        """The columns of each unique index."""
        return [columns for columns, unique in self.indexes.values() if unique]

    # --- statements -------------------------------------------------------------------------------

    def has_duplicates(self, columns: tuple[str, ...]) -> bool:
        """Whether two rows have the same values in some columns."""
        rows = list(self.rows.values())
        return any(repeated(row, rows[:place], columns) for place, row in enumerate(rows))

    def add(self, name: str, default: Any) -> None:
        """A new column, with its default in the rows that are there."""
        self.defaults[name] = default
        for row in self.rows.values():
            row[name] = default

    def drop(self, name: str) -> None:
        """A column goes."""
        del self.defaults[name]
        self.texts.discard(name)
        self.floats.discard(name)
        self.required.discard(name)
        for row in self.rows.values():
            del row[name]

    def rename(self, name: str, new: str) -> None:
        """A column has another name."""
        changed = {name: new}
        self.defaults = {changed.get(one, one): value for one, value in self.defaults.items()}
        self.texts = {changed.get(one, one) for one in self.texts}
        self.floats = {changed.get(one, one) for one in self.floats}
        self.required = {changed.get(one, one) for one in self.required}
        for key, row in self.rows.items():
            self.rows[key] = {changed.get(one, one): value for one, value in row.items()}
        self.indexes = {
            index: (tuple(changed.get(one, one) for one in columns), unique)
            for index, (columns, unique) in self.indexes.items()
        }

    def convert(self, name: str, kind: type[str] | type[float] = str) -> None:
        """A column of whole numbers is text, or floating-point, from now on."""
        (self.texts if kind is str else self.floats).add(name)
        for row in (self.defaults, *self.rows.values()):
            row[name] = None if row[name] is None else kind(row[name])

    def entries(self, columns: tuple[str, ...]) -> set[tuple[tuple[Any, ...], Any]]:
        """The entries of an index: the values of each row, with its key."""
        return {(tuple(row[one] for one in columns), key) for key, row in self.rows.items()}


def repeated(row: Row, others: Iterable[Row], columns: tuple[str, ...]) -> bool:
    """Whether another row has the same values, none of them NULL."""
    values = [row[name] for name in columns]
    return None not in values and any([one[name] for name in columns] == values for one in others)
