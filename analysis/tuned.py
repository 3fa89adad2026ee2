"""What `ddlsim tune --out DIR` left in its directory, for figures and pages."""

import json
from pathlib import Path
from typing import Any, Final

from analysis.cells import CellsError
from analysis.tune.document import FORMAT, WRITER

FILE: Final = "tune.json"


def read(source: Path) -> dict[str, Any]:
    """The advice in a directory (or its tune.json); `CellsError` where there is none."""
    file = source / FILE if source.is_dir() else source
    if not file.is_file():
        raise CellsError(f"{source}: no {FILE} there; name the directory of `ddlsim tune --out`")
    found: dict[str, Any] = {}
    try:
        found = json.loads(file.read_text("utf-8"))
        known = (found["writer"], found["format"]) == (WRITER, FORMAT)
        known = known and {"command", "provenance"} <= found.keys()
    except (OSError, ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise CellsError(f"{file}: no advice that this program wrote; run `ddlsim tune` again")
    return found


def there(directory: Path) -> bool:
    """Whether a directory holds advice."""
    return (directory / FILE).is_file()
