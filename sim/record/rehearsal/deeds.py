"""What statements do to the rows of a table, by their words, and by foreign keys that cascade: what
triggers and functions do is not seen.
"""

import re
from collections.abc import Sequence
from typing import Final

from ddlsim.record.rehearsal.tables import Table

_ANY: Final = re.IGNORECASE | re.DOTALL
_NO_DEED: Final = re.compile(
    r"\b(?:ON|BEFORE|AFTER|OF|OR|FOR)\s+(?:DELETE|TRUNCATE)\b|^\s*(?:GRANT|REVOKE)\b.*", _ANY
)
"""Where these words delete nothing: what a foreign key, a trigger or a rule waits for, and rights
on a table."""
_DELETES: Final = re.compile(r"\b(?:DELETE|TRUNCATE|MERGE|REPLACE\s+INTO)\b|^\s*REPLACE\b", _ANY)


def mentions(sent: Sequence[str], name: str) -> bool:
    """Whether a statement has a name in it."""
    return any(re.search(rf"\b{re.escape(name)}\b", sql, re.IGNORECASE) for sql in sent)


def deletes(sent: Sequence[str], table: Table) -> bool:
    """Whether a statement may delete rows of a table: there, or of one from which it cascades."""
    by = [sql for sql in sent if deleting(sql)]
    return any(mentions(by, name) for name in (table.name, *table.above))


def deleting(sql: str) -> bool:
    """Whether a statement may delete rows: `ON DELETE CASCADE` of a foreign key does not."""
    return _DELETES.search(_NO_DEED.sub(" ", sql)) is not None


def rekeys(sent: Sequence[str], table: Table) -> bool:
    """Whether a statement updates the primary key of a table."""
    keys = "|".join(map(re.escape, table.key))
    form = re.compile(rf"\bUPDATE\b.*\bSET\b((?!\bWHERE\b).)*?\b(?:{keys})\b\W?\s*=", _ANY)
    return mentions([sql for sql in sent if form.search(sql)], table.name)
