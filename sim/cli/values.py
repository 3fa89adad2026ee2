"""What flags take: seeds, counts and rates; what cannot be one is told in words."""

import argparse
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
    return range(begin, end + 1)


def positive(text: str) -> int:
    """A whole number from 1 up."""
    value = seed(text)
    if value < 1:
        raise argparse.ArgumentTypeError("expected a number from 1 up")
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
