"""Which program a corpus was made with: its version and a digest of what decides a hunt.

Worlds that an edit of the source runs in another way show other features and other signatures: what
one program has found, another one has to see for itself.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from ddlsim import __version__, files
from ddlsim.scenario.findings import described
from ddlsim.search.digest import digest_of

ROOT: Final = Path(files.__file__).resolve().parent
ASIDE: Final = ("analysis", "cli", "foreign", "lint", "mutation", "plugin", "record", "shrink")
"""The folders of the package whose source decides nothing in a hunt."""
DIGITS: Final = 12


def name(loads: Sequence[str]) -> str:
    """This program with these plug-ins, such as `0.1.0 5f0c3a9e7d21`."""
    digest = hashlib.sha256(f"{source(ASIDE)} {described()}".encode())
    for file in loads:
        digest.update(Path(file).read_bytes())
    return f"{__version__} {digest.hexdigest()[:DIGITS]}"


@cache
def source(without: tuple[str, ...]) -> str:
    """A digest of the package's source, without some of its folders."""
    return digest_of(ROOT, without)
