"""Every flag's environment variable: `DDLSIM_SEED` stands for `--seed`."""

import argparse
import os
import shlex
from difflib import get_close_matches
from typing import Any, Final

from sim.cli.problems import InputError, near, note

PREFIX: Final = "DDLSIM_"
DEBUG: Final = "DDLSIM_DEBUG"
YES: Final = ("1", "true", "yes", "on")
NO: Final = ("0", "false", "no", "off")


def variable(flag: str) -> str:
    """The variable of a flag."""
    return PREFIX + flag.lstrip("-").replace("-", "_").upper()


def debugging() -> bool:
    """Whether tracebacks are asked for."""
    return os.environ.get(DEBUG, "").lower() not in ("", *NO)


def flags(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The flags of a parser by their variables."""
    found = {}
    for action in parser._actions:
        names = [name for name in action.option_strings if name.startswith("--")]
        if names and action.dest != "help":
            found[variable(names[0])] = action
    return found


def defaults(parser: argparse.ArgumentParser, variables: dict[str, str]) -> dict[str, Any]:
    """What the environment says about a verb's flags, by their names in the options."""
    known = flags(parser)
    return {
        action.dest: _value(name, variables[name], action)
        for name, action in known.items()
        if variables.get(name, "").strip()
    }


def doubtful(variables: dict[str, str], parsers: list[argparse.ArgumentParser]) -> None:
    """Note variables that look like ours and are not: a misspelt one would have no effect."""
    known = {DEBUG, *(name for parser in parsers for name in flags(parser))}
    for name in sorted(one for one in set(variables) - known if one.startswith(PREFIX)):
        found = get_close_matches(name, sorted(known), n=1, cutoff=0.85)
        if found:
            note(f"{name} is not used; did you mean {found[0]}?")


def _value(name: str, text: str, action: argparse.Action) -> Any:
    """The value of one flag."""
    if action.nargs == 0:
        if text.lower() not in YES + NO:
            raise InputError(f"{name}: expected 1 or 0, not {text!r}")
        return text.lower() in YES
    if isinstance(action.default, list):
        try:
            return shlex.split(text)
        except ValueError:
            raise InputError(f"{name}: a quotation mark is not closed") from None
    if action.choices is not None and text not in action.choices:
        raise InputError(f"{name}: unknown {text!r}; {near(text, list(action.choices))}")
    if action.type is None:
        return text
    try:
        return action.type(text)  # type: ignore[operator]  # always one of our functions
    except argparse.ArgumentTypeError as error:
        raise InputError(f"{name}: {error}") from None


def epilog(parser: argparse.ArgumentParser) -> str:
    """The part of a verb's help that tells the variables."""
    known = flags(parser)
    width = max(map(len, known), default=0)
    lines = ["environment variables, for what the command line does not say:"]
    for name, action in known.items():
        how = " (1 or 0)" if action.nargs == 0 else ""
        how = " (several: words as in a shell)" if isinstance(action.default, list) else how
        flag = next(each for each in action.option_strings if each.startswith("--"))
        lines.append(f"  {name.ljust(width)}  {flag}{how}")
    return "\n".join(lines)
