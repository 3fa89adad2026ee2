"""Golden reports of the linter: what was given, and what it said, one story a file.

    python -m tests.golden.compat --write     renews the reports; review the difference

A file holds lines that begin with `$` and the text that belongs to each: `$ schema`, `$ migration`,
and last `$ compat` (or `$ compat --baseline ignite3`, or `$ compat --from-scratch`) with the report
and, in its last line, the exit code.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from ddlsim.lint.compat import exit_code
from tests.support.linting import lint

FOLDER = Path(__file__).parent / "compat"


def stories() -> list[Path]:
    """Every story, in the order of the names."""
    return sorted(FOLDER.glob("*.txt"))


def sections(story: str) -> Iterator[tuple[str, str]]:
    """Each `$` line of a story with the text below it."""
    for part in story.removeprefix("$ ").split("\n$ "):
        command, _, text = part.partition("\n")
        yield command, text


def told(story: str) -> str:
    """A story with the report that the linter gives today."""
    parts = dict(sections(story))
    command = next(name for name in parts if name.startswith("compat"))
    words = command.split()
    baseline = words[words.index("--baseline") + 1] if "--baseline" in words else "iep"
    if "--from-scratch" in words:
        report = lint(None, parts["migration"], baseline)
    else:
        report = lint(parts["schema"], parts["migration"], baseline)
    parts[command] = f"{json.dumps(report, indent=2)}\nexit {exit_code(report)}\n"
    return "".join(f"$ {name}\n{text.rstrip()}\n" for name, text in parts.items())


def main(arguments: list[str]) -> int:
    """Renew what differs, or only tell."""
    different = [path for path in stories() if told(path.read_text("utf-8")) != path.read_text()]
    for path in different:
        if "--write" in arguments:
            path.write_text(told(path.read_text("utf-8")), "utf-8")
        sys.stdout.write(f"{path.name}\n")
    return 1 if different and "--write" not in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
