"""What `ddlsim explain` draws: cycles, pages and traces, for any argument."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from ddlsim.checkers.argument import Argument, Moment, Party, argue
from ddlsim.checkers.base import Step
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import judge
from ddlsim.cli.picture import cut as picture_cut
from ddlsim.cli.picture import cycle as picture_cycle
from ddlsim.cli.picture import page as picture
from ddlsim.cli.picture import trace
from ddlsim.history import codec
from ddlsim.history.history import History
from ddlsim.history.world_events import LeaderElected, LeaseBegan, MessageDelivered, MessageSent
from ddlsim.nemesis.base import FAULTS
from tests.support.command import ddlsim, tiny
from tests.support.history import Story

SVG = "{http://www.w3.org/2000/svg}"
WORST = 6.6
"""The mean width of a character, in any proportional font of 12 pixels, where it is wide."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Histories: with a cycle past a DDL, with many transactions, under faults, and tiny."""
    folder = tmp_path_factory.mktemp("kept")
    for name, scenario in (
        ("cycle", "negative/no_operation_check"),
        ("busy", "negative/no_completeness_wait"),
        ("faults", "faults/crash"),
        ("leases", "negative/commits_beyond_lease"),
    ):
        ddlsim("run", scenario, "--seed", "0", "--out", str(folder / name))
    ddlsim("run", tiny(folder), "--seed", "0", "--trace", "--out", str(folder / "tiny"))
    return folder


def history(kept: Path, name: str) -> str:
    return str(kept / name / "seed-0.jsonl")


def drawn(kept: Path, name: str, flag: str, prefix: str = "") -> str:
    file = kept / f"{name}{flag}"
    done = ddlsim("explain", history(kept, name), flag, f"{prefix}{file}")
    assert done.code == 0, done.err
    return file.read_text("utf-8")


def test_entries_of_indexes_are_told_in_words(tmp_path: Path) -> None:
    ddlsim("run", "strategies/C6-T2", "--seed", "0", "--out", str(tmp_path))
    page = tmp_path / "page.html"
    assert ddlsim("explain", str(tmp_path / "seed-0.jsonl"), "--html", str(page)).code == 0
    assert "w puts the entry (5) of key 1 into index 2 of t" in page.read_text("utf-8")


# --- cycles --------------------------------------------------------------------------------------

WORDS = st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), min_size=1, max_size=150)
NAMES = st.text("abcT0123456789.-", min_size=1, max_size=40)


@st.composite
def arguments(draw: st.DrawFn) -> Argument:
    count = draw(st.integers(1, 9))
    parties = tuple(
        Party(
            draw(NAMES),
            draw(st.booleans()),
            draw(WORDS),
            draw(st.none() | NAMES),
            draw(st.none() | NAMES),
            draw(st.none() | st.floats(0, 1e7)),
            draw(st.none() | st.floats(0, 1e7)),
            draw(st.dictionaries(NAMES, NAMES, max_size=2)),
        )
        for _ in range(count)
    )
    steps = tuple(
        Step(
            one.name,
            other.name,
            "T",
            draw(st.sampled_from(["rw-row", "rt", "ww-row", "rw-schema[a.clause.of.a.long-name]"])),
            draw(WORDS),
        )
        for one, other in zip(parties, parties[1:] + parties[:1], strict=True)
    )
    return Argument("because", parties, steps, ())


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not apart and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: "Box") -> bool:
        beside = self.left <= other.left and other.right <= self.right
        return beside and self.top <= other.top and other.bottom <= self.bottom


def number(element: Any, name: str) -> float:
    return float(element.get(name))


def box_of(text: Any) -> Box:
    x, y = number(text, "x"), number(text, "y")
    width = WORST * (1.15 if text.get("class") == "n" else 1) * len(text.text or "")
    return Box(x, y - 10, x + width, y + 3)


WORDY = Argument(
    "because",
    tuple(Party(f"T{at}", False, "word " * 30, "n1", "c1", 1.5, 2.5, {}) for at in range(3)),
    tuple(Step(f"T{at}", f"T{(at + 1) % 3}", "T", "rw-row", "word " * 60) for at in range(3)),
    (),
)


@given(arguments())
@example(WORDY)
def test_no_words_of_a_cycle_lie_on_others(argument: Argument) -> None:
    """Nor on a box that is not theirs, on the way back, or outside the picture."""
    root = ElementTree.fromstring(picture_cycle.svg(argument, "a <title> & more"))
    width, height = (float(word) for word in root.get("viewBox", "").split()[2:])
    texts = [box_of(text) for text in root.iter(f"{SVG}text")]
    boxes = [
        Box(left, top, left + number(rect, "width"), top + number(rect, "height"))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("class") in {"t", "d"}
        for left, top in [(number(rect, "x"), number(rect, "y"))]
    ]
    assert len(boxes) == len(argument.parties)
    for at, one in enumerate(texts):
        assert Box(0, 0, width, height).holds(one)
        assert not any(one.meets(other) for other in texts[at + 1 :])
        for box in boxes:
            own = one.left == box.left + picture_cycle.PAD
            assert box.holds(one) if own and one.meets(box) else not one.meets(box)
        assert one.right <= picture_cycle.LEFT + 4 or one.left > picture_cycle.LEFT + 4
    for at, one in enumerate(boxes):
        assert not any(one.meets(other) for other in boxes[at + 1 :])


def test_the_kind_of_an_edge_is_seen_without_colour(kept: Path) -> None:
    text = drawn(kept, "cycle", "--svg")
    root = ElementTree.fromstring(text)
    paths = [path for path in root.iter(f"{SVG}path") if path.get("class") == "w"]
    assert [path.get("stroke-dasharray") for path in paths] == [None, None, "7 4"]
    assert set(re.findall(r"(?:fill|stroke):(#\w+)", text)) <= {"#000", "#333", "#fff", "#e4e4e4"}
    assert {"D2", "T1", "T2"} <= {text.text for text in root.iter(f"{SVG}text")}


def test_the_simplest_cycle_comes_first(kept: Path) -> None:
    """Of what is equally grave."""
    told = json.loads(ddlsim("explain", history(kept, "busy"), "--output", "json").out)
    for status in ("violation", "accepted"):
        members = [one for one in told["arguments"] if one["status"] == status]
        lengths = [len(one["steps"]) for one in members]
        cycles = [length for length in lengths if length]
        assert lengths == sorted(cycles) + [0] * (len(lengths) - len(cycles))
    statuses = [one["status"] for one in told["arguments"]]
    assert statuses == sorted(statuses, key=lambda status: status != "violation")


def test_a_history_without_a_cycle_has_none_to_draw(kept: Path, tmp_path: Path) -> None:
    done = ddlsim("explain", history(kept, "tiny"), "--svg", str(tmp_path / "a.svg"))
    assert done.code == 2
    assert "has no cycle to draw; --html shows its steps" in done.err
    assert not (tmp_path / "a.svg").exists()


def test_the_page_is_written_where_there_is_no_cycle_to_draw(kept: Path, tmp_path: Path) -> None:
    page, drawing = tmp_path / "a.html", tmp_path / "a.svg"
    files = ("--html", str(page), "--svg", str(drawing))
    done = ddlsim("explain", history(kept, "tiny"), *files)
    assert done.code == 2
    assert f"has no cycle to draw; {page} shows its steps" in done.err
    assert (page.exists(), drawing.exists()) == (True, False)


# --- pages ---------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Which elements are open, and which there were."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["cycle", "busy", "faults", "tiny"])
def test_a_page_is_whole_and_stands_alone(kept: Path, name: str) -> None:
    text = drawn(kept, name, "--html")
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert not any("src" in attributes for _, attributes in reader.tags)
    assert {one["href"] for _, one in reader.tags if "href" in one} == {"#whole"}
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", text)
    assert len(text) < 1_000_000


def test_a_page_is_for_phones_for_the_dark_and_for_paper(kept: Path) -> None:
    text = drawn(kept, "tiny", "--html")
    assert 'name="viewport" content="width=device-width' in text
    used = set(re.findall(r"var\((--[a-z]+)\)", text)) - {"--w", "--y", "--zoom", "--rows"}
    light, dark = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    assert set(re.findall(r"(--[a-z]+):", light)) == used == set(re.findall(r"(--[a-z]+):", dark))
    assert "@media screen and (prefers-color-scheme: dark)" in text  # paper stays white
    assert "@media print" in text


def test_a_page_shows_the_argument_and_who_takes_part(kept: Path) -> None:
    text = drawn(kept, "cycle", "--html")
    assert "No serial order holds D2, T2 and T1." in text
    reader = Reader()
    reader.feed(text)
    looks = [attributes.get("class") for _, attributes in reader.tags]
    assert looks.count("tx") == 2
    assert looks.count("ddl") == 1
    assert looks.count("dd") == looks.count("csmax") == 3
    assert looks.count("force v0") == looks.count("force v1") == 3


def test_what_a_page_quotes_is_no_markup(kept: Path) -> None:
    """Statements, keys and names are whatever clients made them."""
    found = codec.load(history(kept, "cycle"))
    case = Case(found)
    [violation] = [one for one in judge(found).violations if one.steps]
    hostile = structs.replace(
        argue(case, violation),
        paragraph="<i>",
        moments=(Moment(1.0, "Ok", None, "<i>"),),
        parties=tuple(
            structs.replace(party, name="<i>", did="<i>", client="<i>")
            for party in argue(case, violation).parties
        ),
    )
    violation = structs.replace(violation, kind="<i>", because="<i>", summary="<i>")
    text = picture.html(case, "<i>", [picture.ArguedViolation(violation, hostile)], "<i>")
    assert "<i>" not in text
    assert "&lt;i&gt;" in text


def test_a_page_shows_faults_on_their_nodes(kept: Path) -> None:
    text = drawn(kept, "leases", "--html")
    assert text.count('<rect class="fault"') == 3
    assert text.count(">lease_loss<") == 3


def test_a_fault_that_only_begins_has_no_band_until_the_load_ends(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FAULTS.get("lease_loss"), "instant", True)
    assert '<rect class="fault"' not in drawn(kept, "leases", "--html")  # it began before


def test_a_page_is_capped_and_says_so(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_cut, "MOST", 8)
    monkeypatch.setattr(picture, "MOST_ARGUMENTS", 2)
    monkeypatch.setattr(picture, "MOST_MOMENTS", 1)
    text = drawn(kept, "busy", "--html")
    assert "more steps of the argument are left out" in text
    assert "more arguments are not shown" in text
    assert "more events are not shown" in text
    assert text.count("<circle") == 8


# --- traces --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cycle", "busy", "faults", "tiny"])
def test_a_trace_is_what_viewers_expect(kept: Path, name: str) -> None:
    """Every slice that begins ends, not before; threads have names."""
    document = json.loads(drawn(kept, name, "--trace-out", "perfetto:"))
    records = document["traceEvents"]
    named = {(one["pid"], one.get("tid")) for one in records if one["ph"] == "M"}
    begun: dict[tuple[str, str], int] = {}
    for one in records:
        assert {"ph", "pid", "name"} <= set(one)
        if one["ph"] in "beXisf":
            assert (one["pid"], one["tid"]) in named
        if one["ph"] == "b":
            begun[one["cat"], one["id"]] = one["ts"]
        if one["ph"] == "e" and one["cat"] != "fault":
            assert one["ts"] >= begun.pop((one["cat"], one["id"]))
    assert all(cat == "fault" for cat, _ in begun)


def test_a_trace_has_tracks_for_lag_waits_leases_and_leaders(kept: Path) -> None:
    records = json.loads(drawn(kept, "faults", "--trace-out", "perfetto:"))["traceEvents"]
    events = codec.load(history(kept, "faults")).events
    lags = [one["args"]["ms"] for one in records if one["name"].startswith("safe-time lag")]
    assert lags
    assert min(lags) >= 0
    waits = {one["id"] for one in records if one.get("cat") == "wait"}
    assert len(waits) == sum(bool(getattr(event, "waited_us", 0)) for event in events)
    leases = [one for one in records if one.get("cat") == "lease" and one["ph"] == "b"]
    begun = {(e.group, e.holder, e.start_ts) for e in events if isinstance(e, LeaseBegan)}
    assert len(leases) == len(begun)
    elected = [event for event in events if isinstance(event, LeaderElected)]
    leaders = [one for one in records if one.get("cat") == "leader" and one["ph"] == "b"]
    assert [one["ts"] for one in leaders] == [event.at_us for event in elected] != []
    threads = {one["args"]["name"] for one in records if one["name"] == "thread_name"}
    schemas = Case(codec.load(history(kept, "faults"))).schemas
    assert {schemas.group(one.group) for one in elected} <= threads


def test_a_message_that_is_sent_again_has_an_arrow_of_its_own() -> None:
    """Both had the label of their operation: the arrow of the second led back in time."""
    sent = [MessageSent(at, "n1", "n2", "operate", 7) for at in (1_000, 9_000)]
    got = [MessageDelivered(at + 500, "n1", "n2", "operate", 7, at) for at in (1_000, 9_000, 9_000)]
    story = Story(("I1",))
    story.table()
    settings = {"": {}, "n1": {}, "n2": {}}
    traced = History(structs.replace(story.history().header, settings=settings))
    traced.events += sorted([*sent, *got], key=lambda one: one.at_us)
    records = json.loads(trace.perfetto(Case(traced)))
    begun = {one["id"]: one["ts"] for one in records["traceEvents"] if one["ph"] == "s"}
    ended = [(one["id"], one["ts"]) for one in records["traceEvents"] if one["ph"] == "f"]
    assert [at - begun[id_] for id_, at in ended] == [500, 500]
    assert len({id_ for id_, _ in ended}) == len(begun) == 2


def test_a_trace_has_messages_where_the_run_recorded_them(kept: Path) -> None:
    records = json.loads(drawn(kept, "tiny", "--trace-out", "perfetto:"))["traceEvents"]
    sent = {one["id"] for one in records if one["ph"] == "s"}
    assert sent
    assert {one["id"] for one in records if one["ph"] == "f"} <= sent
    assert len(sent) == sum(one["ph"] == "s" for one in records), "an id has one arrow"
    slices = {(one["tid"], one["ts"]) for one in records if one["ph"] == "X"}
    assert all((one["tid"], one["ts"]) in slices for one in records if one["ph"] in "sf")


# --- what can go wrong ---------------------------------------------------------------------------


def test_bad_targets_are_told(kept: Path, tmp_path: Path) -> None:
    file = history(kept, "cycle")
    done = ddlsim("explain", file, "--trace-out", "shiviz:x")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "expected perfetto:FILE" in done.err
    done = ddlsim("explain", file, "--html", str(tmp_path / "no" / "where.html"))
    assert done.code == 2
    assert "in a directory that exists" in done.err


# --- data ----------------------------------------------------------------------------------------


def test_the_same_is_told_as_data(kept: Path) -> None:
    told = json.loads(ddlsim("explain", history(kept, "cycle"), "--output", "json").out)
    assert (told["format"], told["outcome"]) == (1, "violated")
    cycle = next(one for one in told["arguments"] if one["steps"])
    assert cycle["kind"] == "schema-G-single"
    assert cycle["paragraph"].startswith("No serial order holds D2, T2 and T1.")
    assert [party["name"] for party in cycle["parties"]] == ["D2", "T2", "T1"]
    assert [step["from"] for step in cycle["steps"]] == ["D2", "T2", "T1"]
    assert all({"at_ms", "event", "node", "text"} == set(one) for one in cycle["moments"])
    assert told["command"].startswith("ddlsim run negative/no_operation_check")
