"""What the values of flags mean: seeds, lengths of time, numbers."""

import argparse
import re
from typing import Final

MOST: Final = 2**63 - 1
"""The largest seed."""


def seed(text: str) -> int:
    """A seed: a whole number, decimal or 0x…"""
    try:
        value = int(text, 16) if text.lower().startswith("0x") else int(text, 10)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, not {text!r}") from None
    if not 0 <= value <= MOST:
        what = "from 0 up" if value < 0 else f"up to {MOST}"
        raise argparse.ArgumentTypeError(f"expected a number {what}, not {text}")
    return value


def seeds(text: str) -> range:
    """A range of seeds, both ends included."""
    first, dots, last = text.partition("..")
    if not dots:
        raise argparse.ArgumentTypeError(f"expected A..B, such as 0..99, not {text!r}")
    begin, end = seed(first), seed(last)
    if begin > end:
        raise argparse.ArgumentTypeError(f"{text} is empty; say {last}..{first}")
    if end - begin >= MOST:
        raise argparse.ArgumentTypeError(f"{text} are too many seeds to count; take fewer")
    return range(begin, end + 1)


def some_seeds(text: str) -> range:
    """The first N seeds, or a range of seeds."""
    return seeds(text) if ".." in text else range(positive(text))


def duration(text: str) -> float:
    """A length of wall clock time in seconds: `90s`, `10m`, `1.5h`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or not float(found.group(1)):
        raise argparse.ArgumentTypeError(f"expected a time such as 90s, 10m or 1h, not {text!r}")
    return float(found.group(1)) * {"s": 1, "m": 60, "h": 3600}[found.group(2)]


def memory(text: str) -> int:
    """An amount of memory in MiB: `512MiB`, `2GiB`."""
    found = re.fullmatch(r"(\d+)(MiB|GiB)", text)
    if found is None or not int(found.group(1)):
        raise argparse.ArgumentTypeError(f"expected 512MiB or 2GiB, not {text!r}")
    return int(found.group(1)) * {"MiB": 1, "GiB": 1024}[found.group(2)]


def positive(text: str) -> int:
    """A whole number from 1 up."""
    value = seed(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 up, not {text!r}")
    return value


def rate(text: str) -> float:
    """A number that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number from 0 up, not {text!r}")
    return value
