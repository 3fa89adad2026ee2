"""The report of a campaign: kills, judges, costs and survivors, by area."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from ddlsim.model.records import Record
from ddlsim.mutation.areas import AREAS
from ddlsim.mutation.records import By, Result

ENDS: Final[tuple[By, ...]] = ("violation", "stuck", "endless", "assertion", "crash")


class AreaRow(Record, frozen=True):
    """The results of one area, or of all.

    `mutants` are those that could be imported and are not `equivalent`; `unreached` are survivors
    whose changed statement no run executed. `seeds` and `cpu_s` are medians over the killed.
    """

    area: str
    mutants: int
    equivalent: int
    unimportable: int
    killed: int
    by: dict[By, int]
    unreached: int
    seeds: float | None
    cpu_s: float | None

    @property
    def share(self) -> float | None:
        """The share of the mutants that were killed; None without any."""
        return self.killed / self.mutants if self.mutants else None


def rows(results: Sequence[Result], equivalent: Mapping[str, str]) -> list[AreaRow]:
    """A row for each area that has results, and the last one for all of them."""
    areas = [area for area in AREAS if any(one.area == area for one in results)]
    each = [_row(area, [one for one in results if one.area == area], equivalent) for area in areas]
    return [*each, _row("all", results, equivalent)]


def _row(area: str, results: Sequence[Result], equivalent: Mapping[str, str]) -> AreaRow:
    loaded = [one for one in results if one.verdict != "unimportable"]
    judged = [one for one in loaded if one.verdict == "killed" or one.id not in equivalent]
    killed = [one for one in judged if one.verdict == "killed"]
    ends = Counter(one.conviction.by for one in killed if one.conviction is not None)
    return AreaRow(
        area,
        len(judged),
        len(loaded) - len(judged),
        len(results) - len(loaded),
        len(killed),
        {by: ends[by] for by in ENDS if ends[by]},
        sum(not one.reached for one in judged if one.verdict == "survived"),
        median(one.runs for one in killed) if killed else None,
        median(one.cpu_s for one in killed) if killed else None,
    )


def text(results: Sequence[Result], equivalent: Mapping[str, str]) -> str:
    """The whole report as lines of text."""
    return "\n".join(_lines(results, equivalent))


def _lines(results: Sequence[Result], equivalent: Mapping[str, str]) -> Iterator[str]:
    head = (
        "area",
        "mutants",
        "killed",
        "share",
        *ENDS,
        "seeds",
        "CPU s",
        "unreached",
        "equivalent",
    )
    yield _cells(head)
    for row in rows(results, equivalent):
        ends = (row.by.get(by, 0) for by in ENDS)
        share = "-" if row.share is None else f"{row.share:.0%}"
        costs = ("-" if one is None else f"{one:.4g}" for one in (row.seeds, row.cpu_s))
        yield _cells(
            (row.area, row.mutants, row.killed, share, *ends, *costs, row.unreached, row.equivalent)
        )
    yield from _section("Killed by", _judges(results))
    survived = [one for one in results if one.verdict == "survived"]
    left = [one for one in survived if one.id not in equivalent]
    for area in AREAS:
        mine = [one for one in left if one.area == area]
        yield from _section(f"Survivors: {area}", (line for one in mine for line in _shown(one)))
    same = (f"{one.id}\n      {equivalent[one.id]}" for one in survived if one.id in equivalent)
    yield from _section("Equivalent", same)
    broken = (f"{one.id}\n      {one.error}" for one in results if one.verdict == "unimportable")
    yield from _section("Does not import", broken)
    wrong = (one.id for one in results if one.verdict == "killed" and one.id in equivalent)
    yield from _section("Killed, though listed as equivalent", wrong)


def _cells(values: Iterable[object]) -> str:
    first, *others = (str(one) for one in values)
    return f"{first:<12}" + "".join(f"{one:>11}" for one in others)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from ("", title, *(f"  {line}" for line in found))


def _judges(results: Sequence[Result]) -> Iterator[str]:
    found = Counter(one.conviction.what for one in results if _by_judge(one) and one.conviction)
    for what, times in sorted(found.items(), key=lambda one: (-one[1], one[0])):
        yield f"{times:>4}  {what}"


def _by_judge(result: Result) -> bool:
    found = result.conviction
    return result.verdict == "killed" and found is not None and found.by in {"violation", "stuck"}


def _shown(result: Result) -> Iterator[str]:
    yield result.id
    yield f"    {result.sentence}"
    yield f"    executed in {result.reached} of {result.runs} runs; {result.same} as without it"
