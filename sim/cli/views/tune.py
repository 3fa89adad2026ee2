"""The advice on one screen: the answer first, then its reason, price, risk and confidence."""

from typing import Any, Final

from rich.console import Console

from ddlsim.analysis.tune.words import number, with_interval
from ddlsim.analysis.tune.world import ASSUMED
from ddlsim.cli.views.words import command, labelled, say

Part = dict[str, Any]
SHOWN: Final = 6
"""Rows of the front that fit on a screen."""
MEANS: Final = {"I1": "atomicity", "I4": "own DDL"}


def show(found: Part, to: Console, out: str | None) -> None:
    """Everything that a newcomer must read."""
    best, present = found["recommended"], found["present"]
    _cluster(found["asked"], to)
    answer = f"DD {best['dd_ms']} ms   H {best['h_ms']} ms   CSmax {best['cs_max_ms']} ms"
    to.print(answer, style="bold", soft_wrap=True)
    _why(found, to)
    _skewed_clocks(found, to)
    _cost(found, to)
    labelled("now", _now(present, best, found["cs_max"]), to)
    _tried(found["tried"], to)
    _wrong(found, to)
    _front(found["front"], found["goals"], best, to)
    _agreement(found["agreement"], to)
    runs = found["runs"]
    lost = f", {runs['lost']} lost" if runs["lost"] else ""
    labelled(
        "runs",
        f"{runs['all']} in all{lost}, {runs['search']} to find DD (a fine grid: "
        f"{runs['fine_grid']}); seeds {runs['seeds'][0]}..{runs['seeds'][1]} in each cell",
        to,
    )
    if out is not None:
        labelled("written", f"{out}/tune.json, rows.parquet, cells.parquet", to)
    to.print()
    more = found["more_seeds"]
    if more is not None:
        to.print(f"surer: {more['command']}", soft_wrap=True)
    command(found["command"], to)


def _cluster(asked: Part, to: Console) -> None:
    """What is assumed of the cluster: all that follows rests on it."""
    if asked["delays"] is None:
        labelled("assumed", f"no --delays: {ASSUMED}", to, "yellow")
    voting = ", ".join(asked["voting"])
    labelled(
        "cluster",
        f"{len(asked['nodes'])} nodes; {voting} vote ({asked['voters_chosen']}); "
        f"{asked['leader']} leads ({asked['leader_chosen']})",
        to,
    )


def _why(found: Part, to: Console) -> None:
    asked, best = found["asked"], found["recommended"]
    low, high = best["dd_interval_ms"]
    sample = best["dd_over_sample_ms"]
    surely = best["dd_surely_ms"]
    text = f"{' and '.join(asked['waits'])} is met from {best['dd_least_ms']} ms up, "
    text += (
        f"surely (95 %) from {surely}"
        if surely is not None
        else "but so few runs cannot tell from where surely (95 %)"
    )
    if sample is not None:
        text += f"; other samples of the delays move that by {sample[0]:g} to {sample[1]:+g} ms"
    text += f". Together {low} to {high} ms; recommended is the upper end."
    labelled("DD because", text, to)
    reach = f"{best['h_most_ms']:g} ms ({_span(best['h_most_interval_ms'])})"
    labelled(
        "H because",
        f"the longest that can meet all; this DD allows {reach}",
        to,
    )


def _skewed_clocks(found: Part, to: Console) -> None:
    bound = found["cs_max"]
    if bound is None:
        text = "no --offsets were given: it is what it is now, and nothing is said about it"
        labelled("CSmax", text, to)
        return
    pair = f" ({' ahead of '.join(bound['between'])})" if bound["between"] else ""
    pair = pair if bound["largest_ms"] else " (all clocks show the same: no skew was measured)"
    if bound["basis"] == "at equal instants":
        what = f"the largest skew at one instant, of {bound['seen']},"
        then = "The next instant"
    else:
        what = f"the range over the sample, {bound['seen']} readings a clock not of one instant,"
        then = "The next reading of all"
    labelled(
        "CSmax because",
        f"{what} is {bound['largest_ms']:g} ms{pair}; {bound['margin_ms']:g} ms on top, for a "
        f"sample has no upper bound. {then} exceeds it with probability "
        f"{bound['next_larger']:.2g} at most, less than {bound['share_most']:.2g} of all do "
        "(95 %)",
        to,
    )


def _cost(found: Part, to: Console) -> None:
    _goals("goals", found["goals"], to)
    best = next(each for each in found["front"] if _same(each, found["recommended"]))
    labelled(
        "cost",
        f"DDL takes {number(best['ddl_latency_p99'])} ms (p99), "
        f"{_percent(best['waiting'])} of first look-ups wait (< {_percent(best['waiting_high'])}), "
        f"{best['schema_abort_rate']:.2g} of transactions abort for it, "
        f"{best['messages_per_s']:g} metadata commands/s to nodes",
        to,
    )


def _goals(label: str, goals: list[Part], to: Console) -> None:
    """A line for each goal: whether it is met, how surely, and what would tell."""
    for place, goal in enumerate(goals):
        sure = _sureness(goal)
        style = "green" if goal["sure"] else "yellow" if goal["met"] else "red"
        text = f"{goal['goal']}: {sure}; {_figures(goal)}"
        if goal["met"] and not goal["sure"]:
            text += f"; this goal needs about {goal['seeds']} seeds" if goal["seeds"] else (
                "; more seeds would hardly decide it: it is too near to its limit"
            )  # fmt: skip
        labelled(label if not place else "", text, to, style)


def _sureness(goal: Part) -> str:
    return "met" if goal["sure"] else "met, but not surely" if goal["met"] else "NOT met"


def _tried(tried: list[Part], to: Console) -> None:
    """What the user asked about."""
    for place, each in enumerate(tried):
        goals = "; ".join(
            f"{goal['goal']} {_sureness(goal)}, {_figures(goal)}" for goal in each["goals"]
        )
        text = f"DD {each['dd_ms']}, H {each['h_ms']}, CSmax {each['cs_max_ms']} ms: {goals}"
        labelled("tried" if not place else "", text, to)


def _now(present: Part, best: Part, bound: Part | None) -> str:
    text = f"DD {present['dd_ms']}, H {present['h_ms']}, CSmax {present['cs_max_ms']} ms "
    if not present["meets"]:
        missed = " and ".join(goal["goal"] for goal in present["goals"] if not goal["met"])
        text += f"does not meet {missed}"
    else:
        text += "meets every goal"
        if present["dd_can_be_lowered"]:
            text += (
                f". DD can be lowered safely by {present['dd_ms'] - best['dd_ms']} ms, on all "
                "nodes at once: whatever clocks do, only waits can grow; DDL is "
                f"{number(present['ddl_latency_saved_by_dd_ms'])} ms shorter"
            )
        elif best["h_ms"] != present["h_ms"]:
            text += "; DD can be lowered together with H only"
        else:
            text += "; DD cannot be lowered safely"
    less = present["cs_max_ms"] - best["cs_max_ms"]
    if bound is None or less == 0:
        return text
    if less < 0:
        return text + f". CSmax is {-less} ms below what the clocks seen call for"
    return text + (
        f". CSmax by {less} ms (DDL "
        f"{number(present['ddl_latency_saved_by_cs_max_ms'])} ms shorter) only while clocks "
        f"stay as seen; broken by {'; '.join(bound['broken_by'])}"
    )


def _wrong(found: Part, to: Console) -> None:
    """What happens if clocks are farther apart than CSmax: every invariant, with its status."""
    for place, each in enumerate(found["skew"]):
        parts = [
            f"{one['invariant']}{_meaning(one['invariant'])} broken in {one['runs']} of "
            f"{each['runs']} runs, {one['status'].replace('_', ' ')}"
            for one in each["broken"]
        ]
        what = "; ".join(parts) or f"nothing broken in {each['runs']} runs"
        head = f"{each['factor']:g}x CSmax: {what}; p99 wait {number(each['wait_p99'])} ms"
        if not place:
            head += f" ({each['ahead']} ahead of {each['behind']})"
        bad = any(one["status"] == "violation" for one in each["broken"])
        labelled("real skew" if not place else "", head, to, "red" if bad else "")


def _meaning(invariant: str) -> str:
    return f" ({MEANS[invariant]})" if invariant in MEANS else ""


def _front(front: list[Part], goals: list[Part], best: Part, to: Console) -> None:
    """The trade-off: some rows around the answer; a column for every goal."""
    to.print()
    same = [each for each in front if each["h_ms"] == best["h_ms"]]
    at = next(place for place, each in enumerate(same) if _same(each, best))
    chosen = _spread(same, at)
    say(f"trade-off at H {best['h_ms']} ms, each row measured (* no other beats it)", to, "bold")
    more = [
        place
        for place, goal in enumerate(goals)
        if goal["metric"] not in ("dml_wait_p99", "ddl_latency_p99", "schema_abort_rate")
    ]
    extra = "".join(f" {goals[place]['metric']:>15}" for place in more)
    to.print(
        f"  {'DD':>5} {'CSmax':>5} {'waits':>6} {'dml_wait_p99 ms':>22} {'DDL p99 ms':>10} "
        f"{'DML p99':>7} {'aborts':>7}{extra}",
        soft_wrap=True,
    )
    for each in chosen:
        mark = "*" if each["on_front"] else " "
        note = "  recommended" if _same(each, best) else "  knee" if each["knee"] else ""
        keys = ("low", "high", "high_by", "above_most")
        wait = _figures({"simulated": each["wait_p99"], **{k: each[f"wait_p99_{k}"] for k in keys}})
        own = "".join(f" {number(each['goals'][place]['simulated']):>15}" for place in more)
        to.print(
            f"{mark} {each['dd_ms']:>5} {each['cs_max_ms']:>5} {_percent(each['waiting']):>6} "
            f"{wait:>22} {number(each['ddl_latency_p99']):>10} "
            f"{number(each['dml_latency_p99']):>7} {each['schema_abort_rate']:>7.2g}{own}{note}",
            soft_wrap=True,
        )


def _spread(rows: list[Part], at: int) -> list[Part]:
    """Some rows, the ends and the one at this place among them."""
    if len(rows) <= SHOWN:
        return rows
    wanted = {0, at, len(rows) - 1}
    wanted |= {place for place, each in enumerate(rows) if each["knee"]}
    for place in range(0, len(rows), max(len(rows) // SHOWN, 1)):
        if len(wanted) < SHOWN:
            wanted.add(place)
    return [rows[place] for place in sorted(wanted)]


def _agreement(lines: list[Part], to: Console) -> None:
    """Whether formula and runs agree, and where they do not."""
    off = [each for each in lines if not each["agrees"]]
    parts = f"{len(lines) - len(off)} of {len(lines)} figures inside the bracket of the closed form"
    labelled("formula", parts, to, "yellow" if off else "green")
    for each in off:
        bracket = f"{number(each['unordered'])} to {number(each['ordered'])}"
        labelled(
            "",
            f"DD {each['dd_ms']}, H {each['h_ms']}, CSmax {each['cs_max_ms']}: {each['figure']} is "
            f"{_figures(each)}, by formula {bracket}",
            to,
        )


def _same(each: Part, best: Part) -> bool:
    return all(each[key] == best[key] for key in ("dd_ms", "h_ms", "cs_max_ms"))


def _figures(each: Part) -> str:
    """A figure with its interval."""
    return with_interval(each["simulated"], each["low"], each["high"], each.get("high_by", ""),
                each.get("above_most"))  # fmt: skip


def _span(ends: list[float]) -> str:
    return f"{ends[0]:g} to {ends[1]:g}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"
