"""Reads the `tune.json` of `ddlsim tune --out DIR`, for figures and pages.

The file holds a digest of its content, since pages show every part of it unchecked.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from ddlsim import files
from ddlsim.analysis.sweep.cells import CellsError
from ddlsim.analysis.tune.document import FORMAT, WRITER

FILE: Final = "tune.json"
DIGEST: Final = "digest"


def read(source: Path) -> dict[str, Any]:
    """The advice in a directory (or its tune.json); raises `CellsError` where there is none."""
    file = source / FILE if source.is_dir() else source
    if not file.is_file():
        raise CellsError(f"{source}: no {FILE} there; name the directory of `ddlsim tune --out`")
    if (why := files.unfit(file, files.TEXT_MOST)) is not None:
        raise CellsError(f"{file}: {why}")
    found: dict[str, Any] = {}
    try:
        found = json.loads(file.read_text("utf-8"))
        known = (found["writer"], found["format"]) == (WRITER, FORMAT)
        known = known and {"command", "provenance"} <= found.keys()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise CellsError(f"{file}: no advice that this program wrote; run `ddlsim tune` again")
    told = found.pop(DIGEST, None)
    if told != _digest(found):
        what = "its content is not that of its digest" if told else "it has no digest"
        raise CellsError(f"{file}: it is damaged ({what}); run `ddlsim tune` again")
    return found


def sealed(found: dict[str, Any]) -> dict[str, Any]:
    """The advice with its digest, as stored."""
    return {**found, DIGEST: _digest(found)}


def _digest(found: dict[str, Any]) -> str:
    text = json.dumps(json.loads(json.dumps(found)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def there(directory: Path) -> bool:
    """Whether a directory holds advice."""
    return (directory / FILE).is_file()
