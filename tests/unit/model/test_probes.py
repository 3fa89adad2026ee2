"""The list of probes and the code agree."""

import re
from pathlib import Path

import ddlsim
from ddlsim.model.probes import ABORTS, BRANCHES, PROBES, never_reached

CALL = re.compile(r'\bprobe\(\s*(f?)"([^"]+)"')
COUNTED = re.compile(r'\bprobes\["([^"]+)"\] \+=')
OUTCOMES = ("installed", "noop", "refused", "attempts-exhausted")
"""What a DDL statement comes to, where its probe's name is put together."""


def in_code() -> tuple[set[str], list[re.Pattern[str]]]:
    """The names that stand in the code, and patterns of those that it puts together."""
    names: set[str] = set()
    patterns = []
    for file in sorted(Path(ddlsim.__file__).parent.rglob("*.py")):
        text = file.read_text("utf-8")
        for formatted, name in CALL.findall(text):
            if formatted:
                patterns.append(re.compile(re.sub(r"\{.*\}", ".+", name)))
            else:
                names.add(name)
        names.update(COUNTED.findall(text))
    return names, patterns


def test_every_probe_of_the_code_is_known() -> None:
    names, patterns = in_code()
    known = [probe.name for probe in PROBES]
    assert len(names) > 15
    assert sorted(names - set(known)) == []
    for pattern in patterns:
        assert any(pattern.fullmatch(name) for name in known), pattern


def test_every_known_probe_is_in_the_code() -> None:
    names, patterns = in_code()
    gone = [
        probe.name
        for probe in PROBES
        if probe.name not in names and not any(p.fullmatch(probe.name) for p in patterns)
    ]
    assert gone == []
    ddl = [probe.name for probe in BRANCHES if probe.name.startswith("ddl-")]
    assert sorted(ddl) == sorted(f"ddl-{outcome}" for outcome in OUTCOMES)


def test_probes_have_names_of_their_own_and_sentences() -> None:
    names = [probe.name for probe in PROBES]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)
    assert all(len(probe.sentence) > 10 for probe in PROBES)


def test_never_reached_lists_unreached_probes() -> None:
    everything = {probe.name for probe in PROBES}
    assert never_reached(everything) == ()
    assert never_reached(everything - {"lock-wait", ABORTS[0].name}) == (
        "lock-wait",
        ABORTS[0].name,
    )
    assert not any(name.startswith("paused-") for name in never_reached({""}))
