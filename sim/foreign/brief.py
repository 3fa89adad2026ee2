"""Values of foreign histories: in few words, and as keys of dictionaries."""

from typing import Any


def brief(value: Any) -> str:
    """A value in few words, as EDN writes it."""
    if isinstance(value, list):
        if len(value) > 6:
            inside = f"...[{len(value) - 2} elements], {brief(value[-2])}, {brief(value[-1])}"
        else:
            inside = " ".join(map(brief, value))
        return f"[{inside}]"
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def hashable(value: Any) -> Any:
    """A value as a key of a dictionary in which 1, 1.0, true and "1" are not the same."""
    if isinstance(value, list):
        return ("list", *map(hashable, value))
    if isinstance(value, dict):
        return ("map", *sorted((key, hashable(one)) for key, one in value.items()))
    return (type(value).__name__, value)
