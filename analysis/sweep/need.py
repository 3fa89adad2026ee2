"""The axes that figures need of a sweep."""

import re
from typing import NamedTuple


class Need(NamedTuple):
    """An axis that a figure needs: its usual name, and the path of keys that it sets.

    A `*` in the path matches any number or name.
    """

    name: str
    path: str

    def is_set_by(self, path: str) -> bool:
        """Whether a sweep's path matches."""
        return bool(re.fullmatch(re.escape(self.path).replace(r"\*", r"[^.\[\]]+"), path))
