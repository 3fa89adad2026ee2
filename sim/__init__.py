"""A deterministic simulator and judge for online schema change protocols."""

from typing import Final

__version__: Final = "0.1.0"
