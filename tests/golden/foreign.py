"""Golden verdicts on small external histories: one of each anomaly, of lists and of registers.

Each folder of `foreign` is a workload, each `.edn` in it a history, the `.json` of the same name
what `ddlsim check --output json` says of it, the `.txt`, where there is one, what people read.

python -m tests.golden.foreign --write     renews the verdicts; review the difference
"""

import contextlib
import io
import os
import sys
from pathlib import Path

from ddlsim.cli import main

FOLDER = Path(__file__).parent / "foreign"
TEXTS = (
    "list-append/G-single",
    "list-append/incompatible-order",
    "rw-register/unknown-written-twice",
)
STORIES = {
    str(path.relative_to(FOLDER).with_suffix("")): path for path in sorted(FOLDER.glob("*/*.edn"))
}


def told(name: str, output: str) -> str:
    """What the command says of a history."""
    here = Path.cwd()
    os.chdir(FOLDER)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            main(["check", f"{name}.edn", "--output", output])
    finally:
        os.chdir(here)
    return out.getvalue()


def texts() -> dict[Path, str]:
    """Every golden file and what it must hold."""
    found = {FOLDER / f"{name}.json": told(name, "json") for name in STORIES}
    return found | {FOLDER / f"{name}.txt": told(name, "text") for name in TEXTS}


def write(arguments: list[str]) -> int:
    """Renew what differs, or only tell."""
    different = [
        (path, text)
        for path, text in texts().items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    for path, text in different:
        if "--write" in arguments:
            path.write_text(text, "utf-8")
        sys.stdout.write(f"{path.relative_to(FOLDER)}\n")
    return 1 if different and "--write" not in arguments else 0


if __name__ == "__main__":
    sys.exit(write(sys.argv[1:]))
