"""Files of measurements: what is read, and what is refused with its line and a remedy."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from ddlsim.scenario.measured import parse, text_of
from ddlsim.scenario.problems import ScenarioError


def refused(text: str, quantity: str = "delay") -> str:
    with pytest.raises(ScenarioError) as caught:
        parse(text, "d.csv", quantity)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_parse_a_file_without_names_has_one_group() -> None:
    found = parse("# from a ping\ndelay_ms\n3\n1.5\n\n2e1\n", "d.csv", "delay")
    assert found.groups == {(): (3.0, 1.5, 20.0)}
    assert found.pooled == (3.0, 1.5, 20.0)
    assert found.named == ()


def test_parse_groups_delays_by_link() -> None:
    text = "from,to,time_s,delay_us\na,b,1,1500\nb,a,0,3\na, b ,1,2500\n"
    found = parse(text, "d.csv", "delay")
    assert found.groups == {("a", "b"): (1.5, 2.5), ("b", "a"): (0.003,)}
    assert found.lines == {("a", "b"): 2, ("b", "a"): 3}
    assert found.named == ("a", "b")


def test_offsets_may_be_negative_and_delays_may_be_zero() -> None:
    assert parse("node,offset_s\na,-0.5\n", "o.csv", "offset").groups == {("a",): (-500.0,)}
    assert parse("delay_ms\n0\n", "d.csv", "delay").pooled == (0.0,)


LACKS = "d.csv:1: no column of delays; expected one of delay_us, delay_ms, delay_s"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "d.csv:1: there is no header; begin with one of delay_us, delay_ms, delay_s"),
        ("delay_ms\n", "d.csv: no measurements in it, only a header or nothing"),
        ("delay\n3\n", "d.csv:1: delay has no unit; call the column delay_us, delay_ms, delay_s"),
        ("3\n4\n", "d.csv:1: there is no header; begin with one of delay_us, delay_ms, delay_s"),
        (
            "offset_ms,Delay_MS\n3,1\n",
            f"{LACKS}; the header has 'offset_ms', 'Delay_MS'",
        ),
        (
            "from;to;delay_ms\na;b;3\n",
            "d.csv:1: separate the columns by commas, not 'from;to;delay_ms'",
        ),
        ("delay_ms;time_s\n3;1\n", "d.csv:1: separate the columns by commas, not 'delay_ms;"),
        ("delay_ms\ttime_s\n3\t1\n", "d.csv:1: separate the columns by commas, not 'delay_ms\\t"),
        ("delay\n3\n", "d.csv:1: delay has no unit; call the column delay_us"),
        ("delay_ms,delay_s\n3,3\n", "d.csv:1: more than one column of delays; expected one of "),
        ("delay_ms\n3\n-1\n", "d.csv:3: delay_ms: a negative delay, -1; are the two clocks in"),
        ("delay_ms\n3\nfast\n", "d.csv:3: delay_ms: expected a number, not 'fast'"),
        ("delay_ms,time_s\n3,1\n,2\n", "d.csv:3: delay_ms: empty; drop the row, or measure again"),
        ("delay_ms\nnan\n", "d.csv:2: delay_ms: nan cannot be; is the unit right?"),
        (
            "delay_s\n1e9\n",
            "d.csv:2: delay_s: 1e9 is more than 10,000,000 ms, almost three hours; is",
        ),
        ("delay_s\n10001\n", "d.csv:2: delay_s: 10001 is more than 10,000,000 ms"),
        ("delay_us\n1.1e10\n", "d.csv:2: delay_us: 1.1e10 is more than 10,000,000 ms"),
        ("delay_ms,time_s\n3,inf\n", "d.csv:2: time_s: inf cannot be; is the unit right?"),
        ("delay_ms,time_s\n3,1e306\n", "d.csv:2: time_s: 1e306 cannot be; is the unit right?"),
        (
            "time_s,at_ms,delay_ms\n1,2,3\n",
            "d.csv:1: more than one column of times, 'time_s' and 'at",
        ),
        (
            "delay_ms,at_s\n3,1763700001\n3,1763700000\n",
            "d.csv:3: at_s goes back from 1763700001 to 1763",
        ),
        ("delay_ms,time_s\n3,5\n3,4\n", "d.csv:3: time_s goes back from 5 to 4; sort the file by"),
        ("delay_ms\n1_000\n", "d.csv:2: delay_ms: expected a number, not '1_000'"),
        ("delay_ms,time_s\n3,1_0\n", "d.csv:2: time_s: expected a number, not '1_0'"),
        ("delay_ms,time_s\n3,now\n", "d.csv:2: time_s: expected a number, not 'now'"),
        ("delay_ms,time\n3,5\n", "d.csv:1: column 'time' has no unit; say time_ms"),
        ("delay_ms,form\n3,5\n", "d.csv:1: column 'form' unknown; did you mean from?"),
        ("delay_ms,from\n3,a\n", "d.csv:1: column 'from' without 'to'; a link has both"),
        ("from,to,delay_ms\na,a,5\n", "d.csv:2: from a to itself; a link has two ends"),
        ("from,to,delay_ms\na,,5\n", "d.csv:2: the name of a node is missing"),
        ("from,to,delay_ms\na,b\n", "d.csv:2: 2 fields, but the header has 3"),
        ("from,from,to,delay_ms\na,a,b,1\n", "d.csv:1: two columns 'from'"),
    ],
)
def test_parse_refuses_bad_files(text: str, told: str) -> None:
    assert refused(text).startswith(told), refused(text)


def test_a_long_header_is_cut_in_the_message() -> None:
    header = ",".join(f"{name}" * 40 for name in "abcdefgh")
    assert refused(f"{header}\n").endswith("'ffffffffffffffffffffffffffffff' and 2 more")


def test_an_infinite_number_and_one_beyond_the_bound_are_refused() -> None:
    assert "inf cannot be" in refused("offset_ms\ninf\n", "offset")
    assert "-10001 is more than" in refused("offset_s\n-10001\n", "offset")


def test_the_bound_is_of_values_in_milliseconds() -> None:
    assert parse("delay_us\n12000000\n1e10\n", "d.csv", "delay").pooled == (12_000.0, 1e7)
    assert parse("offset_s\n-10000\n", "o.csv", "offset").pooled == (-1e7,)


@pytest.mark.parametrize(
    ("column", "at", "ms"),
    [
        ("time_s", "1763700000.25", 1763700000250.0),
        ("time_ms", "1763700000000", 1763700000000.0),
        ("at_us", "1763700000000125", 1763700000000.125),
        ("time_us", "10000001", 10000.001),
        ("time_s", "-5", -5000.0),
    ],
)
def test_times_are_of_any_origin(column: str, at: str, ms: float) -> None:
    found = parse(f"{column},delay_ms\n{at},1\n", "d.csv", "delay")
    assert found.times[()] == (pytest.approx(ms, rel=1e-15),)


def test_each_link_has_its_own_time() -> None:
    text = "from,to,time_s,delay_ms\na,b,10,1\nb,a,0,1\na,b,9,1\n"
    assert refused(text).startswith("d.csv:4: time_s goes back from 10 to 9")
    back = refused("delay_ms,at_s\n3,1763700001\n3,1763700000.5\n")
    assert back.startswith("d.csv:3: at_s goes back from 1763700001 to 1763700000.5")


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.floats(0, 1e6)), min_size=1
    )
)
def test_parquet_is_the_same_as_csv(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:
    folder = tmp_path_factory.mktemp("files")
    names = ("from", "to", "delay_ms")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    parquet.write_table(pa.table(columns), folder / "d.parquet")
    lines = [",".join(names), *(f"{a},{b},{value!r}" for a, b, value in rows)]
    Path(folder, "d.csv").write_text("\n".join(lines), "utf-8")
    one, other = (parse(text_of(folder / f"d.{kind}"), "d", "delay") for kind in ("csv", "parquet"))
    assert one == other
    assert sum(len(own) for own in one.groups.values()) == len(rows)


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "d.parquet"
    file.write_bytes(b"delay_ms\n3\n")
    with pytest.raises(ScenarioError, match=r"d\.parquet: not a Parquet file"):
        text_of(file)
