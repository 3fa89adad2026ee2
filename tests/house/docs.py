"""What the documents promise: commands that exist, and links that lead somewhere."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.house.tree import committed

BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANY_BLOCK = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#+ +(.+?) *#*$", re.MULTILINE)
ABROAD = re.compile(r"^[a-z][a-z0-9+.-]*:")
KEPT = re.compile(r"^(.+)/seed-(\d+)\.(?:jsonl|toml)$")
PROGRAMS = (["ddlsim"], ["python3", "dev.py"])

Help = Callable[[str, str], str | None]
"""The help text of a program's verb, or nothing if it has no such verb."""
SeedOf = Callable[[str], int]
"""The seed with which a scenario runs if the command names none."""


def documents(root: Path) -> list[Path]:
    return [path for path in committed(root) if path.suffix == ".md"]


def commands(text: str) -> Iterator[list[str]]:
    """The lines of `sh` blocks that call one of our programs, in words."""
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            ends = [words.index(end) for end in ("|", ">", "&&", ";", "&") if end in words]
            words = words[: min(ends, default=len(words))]
            if any(words[: len(program)] == program for program in PROGRAMS):
                yield words


def unknown_commands(path: Path, help_of: Help) -> Iterator[str]:
    """Commands of a document that our programs would not understand."""
    for words in commands(path.read_text("utf-8")):
        [program] = [name for name in PROGRAMS if words[: len(name)] == name]
        rest = words[len(program) :]
        if not rest or rest[0] in {"--help", "--version"}:
            continue
        text = help_of(program[-1], rest[0])
        if text is None:
            yield f"{path.name}: {' '.join(words)}: no such verb"
            continue
        flags = [word.partition("=")[0] for word in rest[1:] if re.match(r"--?[a-z]", word)]
        for flag in flags:
            if program == ["ddlsim"] and not re.search(rf"(?<![\w-]){flag}(?![\w-])", text):
                yield f"{path.name}: {' '.join(words)}: no such flag: {flag}"


def unmade_files(path: Path, seed_of: SeedOf) -> Iterator[str]:
    """Files of single runs that no command above them in the document writes.

    Of a run with several seeds nothing tells which of them are kept.
    """
    made: dict[str, int] = {}
    for words in commands(path.read_text("utf-8")):
        for folder, seed in (found.groups() for found in map(KEPT.match, words) if found):
            if made.get(folder) != int(seed):
                yield f"{path.name}: {' '.join(words)}: nothing above writes it for that seed"
        if words[:2] == ["ddlsim", "run"] and "--out" in words and "--seeds" not in words:
            given = words[words.index("--seed") + 1] if "--seed" in words else None
            seed = seed_of(words[2]) if given is None else int(given)
            made[words[words.index("--out") + 1]] = seed


def dead_links(root: Path) -> Iterator[str]:
    """Relative links that lead to no file, or to no heading of one."""
    for path in documents(root):
        for target in LINK.findall(ANY_BLOCK.sub("", path.read_text("utf-8"))):
            if ABROAD.match(target):
                continue
            name, _, anchor = target.partition("#")
            goal = path.parent / name if name else path
            if not goal.exists():
                yield f"{path.relative_to(root).as_posix()}: {target}: no such file"
            elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
                yield f"{path.relative_to(root).as_posix()}: {target}: no such heading"


def anchors(path: Path) -> set[str]:
    """The headings of a document as the usual renderers address them."""
    text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    plain = [re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(text)]
    return {title.replace(" ", "-") for title in plain}
