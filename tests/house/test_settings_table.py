"""The tables of settings in scenarios/README.md are those in `ddlsim.model.settings` and, of the
store, in `ddlsim.fdb.settings`.

`python tests/house/test_settings_table.py --write` renews it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

if not __package__ and __name__ == "__main__":  # run as a script: the project is its library
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ddlsim.fdb.settings import STORE_SETTINGS
from ddlsim.model.settings import PRESETS, SETTINGS, Setting
from tests.house.tree import ROOT

FILE = ROOT / "scenarios" / "README.md"
PROTOCOL, STORE = "settings", "store settings"


def table(of: str) -> Iterator[str]:
    """The lines of a table."""
    return rows() if of == PROTOCOL else store_rows()


def rows() -> Iterator[str]:
    """The table of `[protocol]`, line by line; what follows from other settings comes last."""
    yield "| key | where it is not given | least | meaning | clause |"
    yield "|---|---|--:|---|---|"
    for setting in sorted(SETTINGS.values(), key=lambda each: each.rule is not None):
        clauses = ", ".join(f"`{clause}`" for clause in setting.clauses)
        cells = [f"`{setting.name}`", default(setting), str(setting.least), setting.doc, clauses]
        yield f"| {' | '.join(cells)} |".replace("|  |", "| |")


def store_rows() -> Iterator[str]:
    """The table of `[fdb]`, line by line."""
    yield "| key | where it is not given | least | meaning | FoundationDB's knob |"
    yield "|---|---|--:|---|---|"
    for setting in STORE_SETTINGS.values():
        least = "" if setting.is_switch else str(setting.least)
        knob = f"`{setting.source}`" if setting.source else ""
        cells = [f"`{setting.name}`", default(setting), least, setting.doc, knob]
        yield f"| {' | '.join(cells)} |".replace("|  |", "| |")


def default(setting: Setting) -> str:
    """What holds where the scenario does not give a setting."""
    if setting.rule is not None:
        return setting.rule.words
    if setting.default is not None:
        return str(setting.default).lower()
    return ", ".join(f"`{name}`: {told[setting.name]}" for name, told in PRESETS.items())


def renewed(text: str) -> str:
    """The text with the tables between their marks."""
    for of in (PROTOCOL, STORE):
        begin, end = f"<!-- {of}:begin -->\n", f"<!-- {of}:end -->\n"
        head, _, rest = text.partition(begin)
        assert rest, f"no table of {of}"
        _, _, tail = rest.partition(end)
        text = f"{head}{begin}" + "".join(f"{row}\n" for row in table(of)) + f"{end}{tail}"
    return text


def test_readme_has_the_present_tables_of_settings() -> None:
    text = FILE.read_text("utf-8")
    assert text == renewed(text), "python tests/house/test_settings_table.py --write"


def test_renewed_replaces_an_old_table_and_nothing_else() -> None:
    one, two = ("".join(f"{row}\n" for row in table(of)) for of in (PROTOCOL, STORE))
    first = "a\n<!-- settings:begin -->\n{}<!-- settings:end -->\nb\n"
    text = first + "<!-- store settings:begin -->\n{}<!-- store settings:end -->\nc\n"
    assert renewed(text.format("| old |\n", "")) == text.format(one, two)


def test_rows_has_one_for_each_setting() -> None:
    told = [row.split("`")[1] for row in rows() if row.startswith("| `")]
    assert sorted(told) == sorted(SETTINGS)
    told = [row.split("`")[1] for row in store_rows() if row.startswith("| `")]
    assert told == list(STORE_SETTINGS)
    assert "| `local_keys` | false | | each storage server" in "\n".join(store_rows())
    assert "| `lease_duration_ms` | 5000 | 1 | term of a primary's lease" in "\n".join(rows())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        FILE.write_text(renewed(FILE.read_text("utf-8")), "utf-8")
        print(f"wrote {FILE.relative_to(ROOT)}")
