"""What pages ask for by a comment: text from the code, or another document of the tree.

`<!-- generated: NAME -->` is replaced by what the function of that name in `MAKERS` returns,
`<!-- from: FILE.md -->` by that file. Links to documents of the tree lead to their pages; those to
other files, which are not part of the site, become plain text.
"""

import os
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

from ddlsim.cli.arguments import COMMAND
from ddlsim.cli.verbs import list as verb_list

ROOT: Final = Path(__file__).resolve().parents[1]
GENERATED: Final = re.compile(r"<!-- generated: (\w+) -->")
FROM: Final = re.compile(r"<!-- from: (\S+) -->")
LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
PAGES: Final = {
    "README.md": "docs/index.md",
    "scenarios/README.md": "docs/reference/scenarios.md",
    "ARCHITECTURE.md": "docs/explanation/architecture.md",
    "PROTOCOL.md": "docs/explanation/protocol.md",
    "CONTRIBUTING.md": "docs/explanation/contributing.md",
    "CHANGELOG.md": "docs/explanation/changes.md",
}
"""Documents outside of docs/ that have a page of the site."""


def fill(page: str, text: str) -> str:
    """The text of a page (`how-to/tune`) with what it asks for, and links within the site."""
    made = GENERATED.sub(lambda found: "\n".join(MAKERS[found[1]]()), text)
    found = FROM.search(made)
    if found is None:
        return linked(made, f"docs/{page}.md", f"docs/{page}.md")
    return linked((ROOT / found[1]).read_text("utf-8"), found[1], f"docs/{page}.md")


def linked(text: str, origin: str, page: str) -> str:
    """The text of the file `origin` as it stands on a page: links lead to pages of the site."""

    def moved(link: re.Match[str]) -> str:
        words, path, anchor = link[1], link[2], link[3] or ""
        if not path:
            return link[0]
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        goal = PAGES.get(goal, goal)
        if not goal.startswith("docs/"):
            return words
        return f"[{words}]({os.path.relpath(goal, posixpath.dirname(page))}{anchor})"

    return LINK.sub(moved, text)


def commands() -> Iterator[str]:
    """Every verb with its help, as the command line prints it."""
    for name, command in COMMAND.commands.items():
        context = click.Context(
            command, info_name=f"ddlsim {name}", terminal_width=84, **COMMAND.context_settings
        )
        yield f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"


def invariants() -> Iterator[str]:
    """Every invariant with its checkers."""
    yield "| invariant | checker | what must hold | class |\n|---|---|---|---|"
    found = sorted(verb_list.checkers(), key=lambda one: (int(one["invariant"][1:]), one["name"]))
    for one in found:
        yield f"| {one['invariant']} | `{one['name']}` | {one['summary']} | {one['class']} |"


def glossary() -> Iterator[str]:
    """Every term, grouped by its source."""
    terms = list(verb_list.terms())
    for source in dict.fromkeys(one["source"] for one in terms):
        yield f"## {source}\n"
        yield from (f"`{t['name']}`\n: {t['summary']}\n" for t in terms if t["source"] == source)


def schemas() -> Iterator[str]:
    """Every JSON Schema, with its file."""
    yield "| schema | of | file |\n|---|---|---|"
    for one in verb_list.schemas():
        file = f"{one['name']}.schema.json"
        what = f"{one['summary']} | {{download}}`{file} <../../sim/schemas/{file}>`"
        yield f"| `{one['name']}` | `{one['source']}`: {what} |"


def scopes() -> Iterator[str]:
    """Every scope: its constants, its rules, and what breaks under which design and mutant."""
    for one in verb_list.scopes():
        title = one["summary"][0].upper() + one["summary"][1:]
        yield f"## {one['name']}\n\n{title} ({one['source']}).\n"
        yield "The first choice of a rule is that of `iep`.\n"
        yield "| constant | default | from | to | |\n|---|---|---|---|---|"
        for name, each in one["constants"].items():
            span = f"{each['default']} | {each['least']} | {each['most']}"
            yield f"| `{name}` | {span} | {each['text']} |"
        yield "\n| rule | choice | | clause |\n|---|---|---|---|"
        for name, choices in one["rules"].items():
            clause = one["clauses"][name]
            for choice, text in choices.items():
                yield f"| `{name}` | `{choice}` | {text} | `{clause}` |"
        yield "\n| | choices | with | breaks |\n|---|---|---|---|"
        for kind in ("designs", "mutants"):
            for name, rules in one[kind].items():
                chosen, more = _pairs(rules), _pairs(one["with"].get(name, {}))
                broken = ", ".join(one["breaks"].get(name, ())) or "nothing"
                yield f"| {kind[:-1]} `{name}` | {chosen} | {more} | {broken} |"
        yield ""


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in values.items())


MAKERS: Final = {
    "commands": commands,
    "invariants": invariants,
    "glossary": glossary,
    "schemas": schemas,
    "scopes": scopes,
}
