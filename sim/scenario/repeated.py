"""A run as a scenario file: what was set over the scenario, how it is judged, and its seed."""

import tomllib
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from ddlsim.scenario.config import Seeds
from ddlsim.scenario.overrides import apply_overrides
from ddlsim.scenario.tomltext import toml_text


def repeated(
    text: str,
    overrides: Mapping[str, Any],
    seed: int,
    *,
    strict: bool = False,
    all_claims: bool = False,
) -> str:
    """The scenario whose run is, with any seed, the one of this `text` with this `seed`.

    Comments at its head stay. Files that are embedded in `overrides` stay files that it names.
    """
    data = apply_overrides(tomllib.loads(text), overrides)
    judged = {key: True for key, on in (("strict", strict), ("all_claims", all_claims)) if on}
    top = {key: value for key, value in data.items() if not isinstance(value, dict | list)}
    seeds = {**dict.fromkeys(Seeds.__struct_fields__, seed), **data.get("seeds", {})}
    head = takewhile(lambda line: line.startswith("#"), text.splitlines(keepends=True))
    return "".join(head) + toml_text({**top, **judged, **data, "seeds": seeds})
