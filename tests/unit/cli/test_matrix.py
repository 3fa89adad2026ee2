"""A matrix is printed in blocks of columns that fit, each with the labels of its rows."""

import io

import pytest
from rich.console import Console

from ddlsim.cli.views import matrix
from ddlsim.cli.views.matrix import Line

COLUMNS = ("I1", "I2", "I3")
LINES = (
    Line("control", ("no effect", ".", ".")),
    Line("heading"),
    Line("  row", (".", "12@3", ".")),
)


def printed(width: int) -> list[str]:
    file = io.StringIO()
    matrix.show(COLUMNS, LINES, Console(file=file, width=width, highlight=False, markup=False))
    return file.getvalue().split("\n")[:-1]


@pytest.mark.parametrize("width", [28, 80])
def test_all_columns_stand_side_by_side_where_there_is_room(width: int) -> None:
    assert printed(width) == [
        "         I1         I2    I3",
        "control  no effect  .     .",
        "heading",
        "  row    .          12@3  .",
    ]


@pytest.mark.parametrize("width", [26, 27])
def test_what_is_too_wide_stands_below(width: int) -> None:
    assert printed(width) == [
        "         I1         I2",
        "control  no effect  .",
        "heading",
        "  row    .          12@3",
        "",
        "         I3",
        "control  .",
        "heading",
        "  row    .",
    ]


def test_no_line_is_wider_than_the_terminal_unless_a_single_column_is() -> None:
    for width in range(18, 60):
        assert all(len(line) <= width for line in printed(width))


def test_what_a_terminal_would_obey_is_escaped() -> None:
    file = io.StringIO()
    matrix.show(("I1",), (Line("a\x1b[31mb", (".",)),), Console(file=file, width=80))
    assert "\x1b" not in file.getvalue()
