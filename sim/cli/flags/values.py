"""What the values of flags mean: seeds, lengths of time, numbers.

Each takes the text of a flag and raises `click.BadParameter`, to which click adds the flag.
"""

import re
from typing import Final

import click

from ddlsim.cli.problems import near

MOST: Final = 2**63 - 1
"""The largest seed."""
MOST_MS: Final = 10**10
"""The longest delay, that of scenarios."""
US_PER_MS: Final = 1_000


class Known(click.Choice[str]):
    """One of some words; another one is answered with those that are near."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(f"unknown {value!r}; {near(value, list(self.choices))}", param, ctx)
        return value


def _check_plain(text: str) -> None:
    """Raise `ValueError` for what Python alone takes for a number: 1_000."""
    if "_" in text:
        raise ValueError(text)


def written(text: str) -> str:
    """A file or a folder that is written; `-`, which elsewhere means stdout, is refused."""
    if text.removeprefix("perfetto:") == "-":
        raise click.BadParameter("- is not stdout here; name a file or a folder, ./- if one is -")
    return text


def seed(text: str) -> int:
    """A seed: a whole number, decimal or 0x…"""
    try:
        _check_plain(text)
        value = int(text, 16) if text.lower().startswith("0x") else int(text, 10)
    except ValueError:
        raise click.BadParameter(f"expected a whole number, not {text!r}") from None
    if not 0 <= value <= MOST:
        what = "from 0 up" if value < 0 else f"up to {MOST}"
        raise click.BadParameter(f"expected a number {what}, not {text}")
    return value


def seeds(text: str) -> range:
    """A range of seeds, both ends included."""
    first, dots, last = text.partition("..")
    if not dots:
        raise click.BadParameter(f"expected A..B, such as 0..99, not {text!r}")
    begin, end = seed(first), seed(last)
    if begin > end:
        raise click.BadParameter(f"{text} is empty; say {last}..{first}")
    if end - begin >= MOST:
        raise click.BadParameter(f"{text} are too many seeds to count; take fewer")
    return range(begin, end + 1)


def some_seeds(text: str) -> range:
    """The first N seeds, or a range of seeds."""
    return seeds(text) if ".." in text else range(positive(text))


def duration(text: str) -> float:
    """A length of wall clock time in seconds: `90s`, `10m`, `1.5h`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or not float(found.group(1)):
        raise click.BadParameter(f"expected a time such as 90s, 10m or 1h, not {text!r}")
    return float(found.group(1)) * {"s": 1, "m": 60, "h": 3600}[found.group(2)]


def memory(text: str) -> int:
    """An amount of memory in MiB: `512MiB`, `2GiB`."""
    found = re.fullmatch(r"(\d+)(MiB|GiB)", text)
    if found is None or not int(found.group(1)):
        raise click.BadParameter(f"expected 512MiB or 2GiB, not {text!r}")
    return int(found.group(1)) * {"MiB": 1, "GiB": 1024}[found.group(2)]


def positive(text: str) -> int:
    """A whole number from 1 up."""
    value = 0 if text.startswith("-") else seed(text)
    if value < 1:
        raise click.BadParameter(f"expected a number from 1 up, not {text!r}")
    return value


def delays(text: str) -> tuple[int, ...]:
    """Milliseconds with commas, `20,100`, each above 0, as whole microseconds."""
    found: list[int] = []
    for part in text.split(","):
        try:
            _check_plain(part)
            value = float(part)
        except ValueError:
            value = -1.0
        if not 0.001 <= value <= MOST_MS:
            raise click.BadParameter(f"expected milliseconds, as in 20 or 20,100, not {text!r}")
        found.append(round(value * US_PER_MS))
    return tuple(dict.fromkeys(found))


def rate(text: str) -> float:
    """A number that is not negative."""
    try:
        _check_plain(text)
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise click.BadParameter(f"expected a number from 0 up, not {text!r}")
    return value


def share(text: str) -> float:
    """A number from 0 to 1."""
    value = rate(text)
    if value > 1:
        raise click.BadParameter(f"expected a share from 0 to 1, not {text!r}")
    return value


def voters(text: str) -> int | tuple[str, ...]:
    """A number of nodes, or their names."""
    if re.fullmatch(r"[0-9]+", text):
        return positive(text)
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names):
        raise click.BadParameter(f"expected a number, or names as in a,b,c, not {text!r}")
    return names


def names(text: str) -> tuple[str, ...]:
    """Names with commas, `a,b`, each once."""
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise click.BadParameter(f"expected names with commas, as in a,b, not {text!r}")
    return tuple(dict.fromkeys(found))


def setting(text: str) -> dict[str, int]:
    """`dd=300,h=100,csmax=20`; what is left out is as recommended."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in ("dd", "h", "csmax") or not equals or name in found:
            raise click.BadParameter(
                f"expected dd=MS, h=MS and csmax=MS with commas, as in dd=300,h=100, not {text!r}"
            )
        found[name] = (positive if name == "h" else seed)(value)
    return found
