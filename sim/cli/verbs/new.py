"""`ddlsim new`: a working file to begin with, for a plug-in or a scenario, in this folder."""

import keyword
import os
import re
import shlex
import sys
from collections.abc import Container
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from ddlsim.checkers.base import CHECKERS
from ddlsim.cli import streams
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.files import write_text
from ddlsim.mutants.base import MUTANTS
from ddlsim.nemesis.base import FAULTS
from ddlsim.strategies.base import DESIGNS
from ddlsim.workload.base import WORKLOADS

RULES: Final = "ddlsim list rules"
PYDOC: Final = "python -m pydoc"
NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


class Kind(NamedTuple):
    """What can be made: its file to copy, the plug-ins of its kind, and the command that runs it,
    in which NAME and FILE stand for the new ones; `read` shows what may stand in the file."""

    skeleton: str
    known: Container[str] | None
    run: str
    read: str


KINDS: Final[dict[str, Kind]] = {
    "strategy": Kind("strategy.py", DESIGNS, "run smoke --load FILE --strategy NAME", RULES),
    "mutant": Kind("mutant.py", MUTANTS, "run smoke --load FILE --mutant NAME", RULES),
    "checker": Kind(
        "checker.py",
        CHECKERS,
        "run smoke --load FILE --all-claims",
        f"{PYDOC} ddlsim.checkers.case.case",
    ),
    "workload": Kind(
        "workload.py",
        WORKLOADS,
        "run smoke --load FILE --set 'workload=[{ name = \"NAME\", clients = 4 }]'",
        f"{PYDOC} ddlsim.workload.base",
    ),
    "fault": Kind(
        "fault.py",
        FAULTS,
        'run smoke --load FILE --set \'faults=[{ name = "NAME", node = "n3", from_ms = 1200, '
        "for_ms = 600 }]'",
        f"{PYDOC} ddlsim.nemesis.actions",
    ),
    "scenario": Kind("scenario.toml", None, "run FILE", "ddlsim list settings"),
}


def execute(options: Options) -> int:
    """Write the file, and tell how it is run."""
    kind = KINDS[options.kind]
    _check(options.kind, options.name)
    file = Path(f"{options.name}{Path(kind.skeleton).suffix}")
    if os.path.lexists(file):
        raise InputError(f"new: {file} exists and is left as it is; take another name")
    write_text(file, filled(options.kind, options.name))
    streams.write(f"wrote {file}")
    streams.write(f"run:   ddlsim {command(options.kind, options.name, str(file))}")
    if kind.known is not None:
        streams.write(f"list:  ddlsim list {_plural(options.kind)} --load {file}")
    streams.write(f"read:  {kind.read}")
    return 0


def command(kind: str, name: str, file: str) -> str:
    """The words after `ddlsim` that run a new file."""
    return KINDS[kind].run.replace("FILE", shlex.quote(file)).replace("NAME", name)


def filled(kind: str, name: str) -> str:
    """The skeleton of a kind under this name."""
    text = (resources.files("ddlsim.cli") / "skeletons" / KINDS[kind].skeleton).read_text("utf-8")
    camel = "".join(part.capitalize() for part in name.split("_"))
    title = kind.capitalize()
    named = camel if camel.endswith(title) else f"{camel}{title}"
    text = text.replace(f"my_{kind}", name).replace(f"MY_{kind.upper()}", name.upper())
    return text.replace(f"My{title}", named)


def _check(kind: str, name: str) -> None:
    """Refuse a name that the file could not have, or that a module or plug-in has already."""
    if not NAME.fullmatch(name):
        what = "use small letters, digits and _, a letter first"
        raise InputError(f"new: invalid name {name!r}; {what}, such as my_{kind}")
    is_module = KINDS[kind].skeleton.endswith(".py")
    if is_module and (keyword.iskeyword(name) or name in {"ddlsim", *sys.stdlib_module_names}):
        what = "Python has that name already; take another one"
        raise InputError(f"new: invalid name {name!r}: {what}, such as my_{kind}")
    known = KINDS[kind].known
    if known is not None and name in known:
        raise InputError(f"new: a {kind} called {name!r} is shipped already; take another name")


def _plural(kind: str) -> str:
    return "strategies" if kind == "strategy" else f"{kind}s"
