"""The table of settings in scenarios/README.md is the one in `ddlsim.model.settings`.

`python tests/house/test_settings_table.py --write` renews it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

if not __package__ and __name__ == "__main__":  # run as a script: the project is its library
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ddlsim.model.settings import PRESETS, SETTINGS, Setting
from tests.house.tree import ROOT

FILE = ROOT / "scenarios" / "README.md"
BEGIN, END = "<!-- settings:begin -->\n", "<!-- settings:end -->\n"


def rows() -> Iterator[str]:
    """The table, line by line; what follows from other settings comes last."""
    yield "| key | where it is not given | least | meaning | clause |"
    yield "|---|---|--:|---|---|"
    for setting in sorted(SETTINGS.values(), key=lambda each: each.rule is not None):
        clauses = ", ".join(f"`{clause}`" for clause in setting.clauses)
        cells = [f"`{setting.name}`", default(setting), str(setting.least), setting.doc, clauses]
        yield f"| {' | '.join(cells)} |".replace("|  |", "| |")


def default(setting: Setting) -> str:
    """What holds where the scenario does not give a setting."""
    if setting.rule is not None:
        return setting.rule.words
    if setting.default is not None:
        return str(setting.default)
    return ", ".join(f"`{name}`: {told[setting.name]}" for name, told in PRESETS.items())


def renewed(text: str) -> str:
    """The text with the table between its marks."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}" + "".join(f"{row}\n" for row in rows()) + f"{END}{tail}"


def test_readme_has_the_present_table_of_settings() -> None:
    text = FILE.read_text("utf-8")
    assert text == renewed(text), "python tests/house/test_settings_table.py --write"


def test_renewed_replaces_an_old_table_and_nothing_else() -> None:
    table = "".join(f"{row}\n" for row in rows())
    assert renewed(f"a\n{BEGIN}| old |\n{END}z\n") == f"a\n{BEGIN}{table}{END}z\n"


def test_rows_has_one_for_each_setting() -> None:
    told = [row.split("`")[1] for row in rows() if row.startswith("| `")]
    assert sorted(told) == sorted(SETTINGS)
    assert "| `lease_duration_ms` | 5000 | 1 | term of a primary's lease" in "\n".join(rows())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        FILE.write_text(renewed(FILE.read_text("utf-8")), "utf-8")
        print(f"wrote {FILE.relative_to(ROOT)}")
