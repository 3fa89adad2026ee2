"""What of EDN counts: comments and discards anywhere, and tokens that are none."""

import pytest

from ddlsim.foreign import jepsen
from ddlsim.foreign.readers import edn
from ddlsim.foreign.readers.forms import bare

ENTRY = "{:type :ok, :f :txn, :value [[:append 0 1] [:r 1 [2 3]]], :process 4, :index 0}\n"
VALUE = [[":append", 0, 1], [":r", 1, [2, 3]]]
PLACES = ("{", ":type ", ", :f", "[[", "[2 ", "3", "4", "0}", "}\n")
NOTHING = (
    "#_:a ", "#_ 9 ", "#_#_ 7 8 ", "#_ [:r 1 [#_ 2 9]] ", "#_{:type :fail} ", '#_"}]" ', "#_\\] ",
    "#_ #foo{:a 1} ", "#_ ; x\n 9 ", "; } ] \" #_\n", "\n",
)  # fmt: skip


def value_of(text: str) -> object:
    table = edn.read(text.encode())
    assert not table.troubles, table.troubles
    assert table.processes.tolist() == [4]
    return table.value(0)


@pytest.mark.parametrize("nothing", NOTHING)
def test_a_comment_or_a_discard_counts_for_nothing_wherever_it_stands(nothing: str) -> None:
    for place in PLACES:
        for text in (ENTRY.replace(place, f"{place} {nothing}"), f"{nothing}[{ENTRY}] {nothing}"):
            assert edn.is_edn(text.encode())
            assert value_of(text) == VALUE, text
        before = ENTRY.replace(place, f" {nothing}{place}")
        assert value_of(before) == VALUE, before


def test_a_discard_takes_one_form_and_not_the_entry_behind_it() -> None:
    for text in (
        f"{ENTRY}#_:zz {ENTRY}",
        f"{ENTRY}#_\n{ENTRY}{ENTRY}",
        f"{ENTRY[:-1]} #_\n{ENTRY * 2}",
    ):
        assert len(edn.read(text.encode())) == 2, text


@pytest.mark.parametrize("text", ["[1 #_]", "[#_ #_ 1]", "{:a #_}", "#_", "[1] #_", "#_ ]"])
def test_a_discard_of_nothing_stays_and_is_a_trouble(text: str) -> None:
    assert b"#_" in bare(text.encode())
    table = edn.read(ENTRY.replace("[2 3]", text).encode())
    assert (len(table), len(table.troubles)) == (0, 1)


def test_blanks_leave_all_else_in_its_place() -> None:
    assert bare(b'[1 #_ "a\nb" 2] ; c\n"#_ ;" \\; #_ #_ a b c') == (
        b'[1      \n   2]    \n"#_ ;" \\;           c'
    )


@pytest.mark.parametrize(
    "token",
    ["01", "1a", "12_3", "1.", "1.5.5", "-01", "1:a", "9r1", "/a", "a/b/c", "\\ab", "\\o1", "##x"],
)  # fmt: skip
def test_a_token_that_is_none_is_a_trouble_and_not_two_values(token: str) -> None:
    table = edn.read(ENTRY.replace("[2 3]", f"[2 {token}]").encode())
    assert len(table) == 0
    [trouble] = table.troubles
    assert (trouble.line, f"({token} is no form of EDN)" in trouble.what) == (1, True)


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("\\formfeed", "\\\\u000C"), ("\\backspace", "\\\\u0008"), ("\\newline", "\\\\newline"),
        ("\\u0041", "\\\\A"), ("\\;", "\\\\;"), ("0x1F", 31), ("+5", 5), ("-0", 0), ("5N", 5),
        ("1/2", "\\1/2"), ("1e3", 1000.0), ("1.5M", "\\1.5M"), (":a/b", ":a/b"), ("a#b", "\\a#b"),
        ("-", "\\-"), ("/", "\\/"), ("##Inf", float("inf")), ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"\\ude00\\ud83d"', "\ude00\ud83d"),
    ],
)  # fmt: skip
def test_a_token_is_one_value(token: str, value: object) -> None:
    assert value_of(ENTRY.replace("[2 3]", f"[2 {token}]")) == [VALUE[0], [":r", 1, [2, value]]]


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("1.50M", "\\1.5M"), ("1M", "\\1M"), ("1.00M", "\\1M"), ("100M", "\\100M"),
        ("1E+2M", "\\100M"), ("-0.0M", "\\0M"), ("1.5e-7M", "\\1.5E-7M"),
        ("1.123456789012345678901234567890123M", "\\1.123456789012345678901234567890123M"),
        ("#{1.0M}", "\\#{1M}"), ("{1.0M [2.00M]}", "\\{1M [2M]}"),
    ],
)  # fmt: skip
def test_equal_decimals_are_one_value_and_others_are_not(token: str, value: object) -> None:
    """In Clojure 1.0M is 1.00M, and no digit of a decimal is lost."""
    assert value_of(ENTRY.replace("[2 3]", f"[2 {token}]")) == [VALUE[0], [":r", 1, [2, value]]]


@pytest.mark.parametrize(
    "field", [":é 1", ":a$b 1", ":k'x 1", ":a&b :c#d", ":|x| ##NaN", ':c \\"', ':time #inst "2020"']
)  # fmt: skip
def test_other_fields_may_be_called_and_hold_anything(field: str) -> None:
    assert value_of(ENTRY.replace("{", f"{{{field} ")) == VALUE


def test_an_entry_of_older_versions_has_its_own_tag() -> None:
    text = ENTRY.replace("{", "#knossos.op.Op{")
    assert jepsen.recognises(text.encode())
    assert value_of(text) == VALUE
