"""Faults planted in recordings: in both files alike, since these are held against each other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ddlsim.history.recording import SPAN

Json = dict[str, Any]


def lines_at(file: Path) -> list[Json]:
    """The lines of a recording, to be changed."""
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def put(file: Path, lines: list[Json]) -> None:
    """Write them back."""
    file.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines))


def reads(lines: list[Json], key: int, indices: range) -> Iterator[Json]:
    """The reads of a key's table in the transactions whose ends have these indices, in order."""
    wanted = {one["tx"] for one in lines if one.get("index", -1) in indices}
    sql = f"SELECT * FROM t{key // SPAN} WHERE "
    for one in lines:
        if one.get("tx") in wanted and one.get("sql", "").startswith(sql):
            yield one


def lists(lines: list[Json], key: int, indices: range) -> Iterator[list[Any]]:
    """Those of their rows that have the key's list, as `[id, x, v, ...]`."""
    for one in reads(lines, key, indices):
        yield from (row for row in one["rows"] or () if row[0] == key % SPAN)
