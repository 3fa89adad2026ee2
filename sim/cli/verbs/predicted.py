"""What `compat` says of the statements of a rehearsal, and whether it came to pass."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from ddlsim import sql
from ddlsim.cli.documents.shapes_rehearse import CrossingLoad, Predicted
from ddlsim.lint import compat
from ddlsim.lint.compat import Source
from ddlsim.record.rehearsal.migration import Order

SCHEMA: Final = "schema"
_ANY: Final = re.IGNORECASE | re.DOTALL
NOTHING: Final = "it changes no schema"
NOT_GIVEN: Final = re.compile("^there is no (?:view|index) |has no constraint ")
"""In what the linter says of objects that are not among the tables it has."""
LIKE: Final = {
    **dict.fromkeys(("TEXT", "LONGTEXT", "MEDIUMTEXT", "CLOB", "JSON", "JSONB"), "VARCHAR"),
    **dict.fromkeys(("BYTEA", "BLOB", "LONGBLOB"), "VARBINARY"),
    **dict.fromkeys(("DATETIME", "TIMESTAMPTZ"), "TIMESTAMP"),
    "BOOL": "BOOLEAN", "INT4": "INT", "INT8": "BIGINT", "INT2": "SMALLINT", "NUMERIC": "DECIMAL",
}  # fmt: skip
"""Types of databases, and those that the linter takes for them."""
FORMS: Final = tuple(
    (re.compile(form, _ANY), like)
    for form, like in (
        (r"`([^`\"]+)`", r'"\1"'),
        (r"\bALTER\s+(?:COLUMN\s+)?(\w+)\s+TYPE\s+", r"ALTER COLUMN \1 SET DATA TYPE "),
        (r"\bMODIFY\s+(?:COLUMN\s+)?(\w+)\s+", r"ALTER COLUMN \1 SET DATA TYPE "),
        (r"\bUSING\s+\w+\s*(?=\()", ""),
        (r"\bINDEX\s+CONCURRENTLY\b", "INDEX"),
        (r"\b(?:CASCADE|RESTRICT)\s*$", ""),
    )
)
"""Statements of databases as the linter has them: types are changed, whatever fills the column."""
FILLED: Final = re.compile(r"\bSET DATA TYPE [^,]*?(?:\([\d\s,]*\)[^,]*?)?(?P<by>\s+USING\b)", _ANY)
"""A change of a type, and where it says how the column is filled."""
PIECE: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.", re.DOTALL)
"""A string, a quoted name, or a character."""
_TYPES: Final = re.compile(rf"\b(?:{'|'.join(LIKE)})\b", re.IGNORECASE)
Agreement = Literal["agrees", "differs", "not seen", "no prediction"]


def predictions(
    schema_sql: str, orders: Sequence[Order], *, folds: bool = False
) -> list[Predicted]:
    """A prediction for each statement, by the rules of IEP-110.

    The linter reads a dialect of its own, so types of the database are taken for like ones there;
    of what it cannot read it says nothing. `folds`: names are taken in lower case, quoted ones too.
    """
    texts = [_readable(order.sql) for order in orders]
    texts = [PIECE.sub(_folded, text) for text in texts] if folds else texts
    found = [_unread(text) for text in texts]
    sources = [Source(str(at), text) for at, text in enumerate(texts) if not found[at]]
    try:
        report = compat.lint_files([Source(SCHEMA, schema_sql)], sources)
    except (compat.UnreadableError, compat.RefusedSchemaError) as error:
        why = f"compat cannot take the tables: {str(error).splitlines()[0]}"
        return [_none(one or why) for one in found]
    made = [_none(one or NOTHING) for one in found]
    first = next((at for at, one in enumerate(found) if one), len(found))
    for statement in report["statements"]:
        at = int(statement["file"])
        made[at] = _prediction(statement, all_read=at < first)
    return made


def _folded(piece: re.Match[str]) -> str:
    return piece[0].lower() if piece[0].startswith('"') else piece[0]


def _readable(text: str) -> str:
    """A statement in the linter's forms and types, few of these replaced; else as it is."""
    made = text
    for form, like in FORMS if _unread(text) else ():
        made = _unfilled(form.sub(like, made))
    for one in (*reversed([*_TYPES.finditer(made)]), None):
        if not _unread(made):
            return made
        if one is not None:
            made = made[: one.start()] + LIKE[one[0].upper()] + made[one.end() :]
    return text


def _unfilled(text: str) -> str:
    """A statement without the expressions that fill columns of a new type; what follows stays."""
    while (found := FILLED.search(text)) is not None:
        end, depth = found.end(), 0
        for piece in PIECE.finditer(text, end):
            depth += {"(": 1, ")": -1}.get(piece[0], 0)
            if piece[0] == "," and not depth:
                break
            end = piece.end()
        text = text[: found.start("by")] + text[end:]
    return text


def _unread(text: str) -> str:
    """Why a statement is not read, empty if it is."""
    errors = sql.parse_script(text).errors
    return f"compat does not read it: {errors[0].message}" if errors else ""


def _none(why: str) -> Predicted:
    return {"verdict": "none", "clauses": [], "why": why}


def _prediction(statement: compat.Report, *, all_read: bool) -> Predicted:
    """`all_read`: the linter has read all statements before it."""
    if statement["error"] is not None:
        why = statement["error"]["message"]
        if not all_read and statement["error"]["reason"].startswith("OBJECT_"):
            return _none("compat does not read a statement before it")
        if NOT_GIVEN.search(why):
            return _none("compat is given tables, without views, indexes and constraints")
        return {"verdict": "refused", "clauses": [], "why": why}
    if statement["no_op"] is not None:
        return _none(f"nothing to do: {statement['no_op']}")
    survives = bool(statement["forward_compatible"])
    word = "compatible" if survives else "incompatible"
    rules = [one for one in statement["rules"] if one["verdict"] == word]
    return {
        "verdict": "survive" if survives else "abort",
        "clauses": list(dict.fromkeys(one["clause"] for one in rules)),
        "why": "; ".join(dict.fromkeys(one["reason"] for one in rules)),
    }


def agreement(predicted: Predicted, crossing: CrossingLoad, *, refused: bool) -> Agreement:
    """Whether what was seen agrees with what was predicted.

    It goes by transactions of the load that were surely across the statement (`measure.Crossing`):

    * predicted to abort: it agrees if at least one of them ended with an error of the schema;
    * predicted to survive: it agrees if none did;
    * predicted to be refused: it agrees if it was; any other statement that is refused differs;
    * without such transactions the prediction was not seen to hold or to fail. So it is where a
      statement waits for all transactions that have used the table, as on databases that lock it
      against DDL. What the statement cost instead, `effects` has measured.
    """
    verdict = predicted["verdict"]
    if verdict == "none":
        return "no prediction"
    if verdict == "refused" or refused:
        return "agrees" if refused and verdict == "refused" else "differs"
    if not crossing["transactions"]:
        return "not seen"
    return "agrees" if (verdict == "abort") is bool(crossing["aborted"]) else "differs"
