"""The advice on one screen: the answer first, then its reason, price, risk and confidence."""

from typing import Any, Final

from rich.console import Console

from sim.cli.words import command, labelled, say

Part = dict[str, Any]
SHOWN: Final = 6
"""Rows of the front that fit on a screen."""


def show(found: Part, to: Console, out: str | None) -> None:
    """Everything that a newcomer must read."""
    best, present = found["recommended"], found["present"]
    answer = f"DD {best['dd_ms']} ms   H {best['h_ms']} ms   CSmax {best['cs_max_ms']} ms"
    to.print(answer, style="bold", soft_wrap=True)
    _why(found, to)
    _skewed_clocks(found, to)
    _cost(found, to)
    labelled("now", _now(present, best), to)
    _wrong(found, to)
    _front(found["front"], best, to)
    _agreement(found["agreement"], to)
    runs = found["runs"]
    lost = f", {runs['lost']} lost" if runs["lost"] else ""
    labelled(
        "runs",
        f"{runs['all']} in all{lost}, {runs['search']} to find DD where a fine grid takes "
        f"{runs['fine_grid']}; seeds {runs['seeds'][0]}..{runs['seeds'][1]}, all cells the same",
        to,
    )
    if out is not None:
        labelled("written", f"{out}/tune.json, rows.parquet, cells.parquet", to)
    to.print()
    command(found["command"], to)


def _why(found: Part, to: Console) -> None:
    asked, best = found["asked"], found["recommended"]
    low, high = best["dd_interval_ms"]
    sample = best["dd_over_sample_ms"]
    text = (
        f"the least DD that meets {' and '.join(asked['waits'])} is {best['dd_least_ms']} ms; 95 % "
        f"interval {low} to {high} ms over seeds"
    )
    text += " and over the sample of delays" if sample is not None else ""
    labelled("DD because", f"{text}. Recommended is its upper end.", to)
    reach = f"{best['h_most_ms']:g} ms ({_span(best['h_most_interval_ms'])})"
    labelled(
        "H because",
        f"it is the longest of those tried with which every goal can be met; this DD allows up to "
        f"{reach}. A shorter H allows a smaller DD and costs more messages.",
        to,
    )


def _skewed_clocks(found: Part, to: Console) -> None:
    bound = found["cs_max"]
    if bound is None:
        text = "no --offsets were given: it is what it is now, and nothing is said about it"
        labelled("CSmax", text, to)
        return
    pair = f" (of {' and '.join(bound['between'])})" if bound["between"] else ""
    labelled(
        "CSmax because",
        f"the largest skew seen is {bound['largest_ms']:g} ms{pair}; a margin of "
        f"{bound['margin_ms']:g} ms on top, for a sample has no upper bound in it. Of "
        f"{bound['seen']} looks: the next shows a larger skew than any before with probability "
        f"{bound['next_larger']:.2g}; such moments are less than {bound['share_most']:.2g} of all "
        f"(95 %). Assumed: {bound['assumed']}.",
        to,
    )


def _cost(found: Part, to: Console) -> None:
    for place, goal in enumerate(found["goals"]):
        sure = "met" if goal["sure"] else "met, but not surely" if goal["met"] else "NOT met"
        style = "green" if goal["sure"] else "yellow" if goal["met"] else "red"
        text = f"{goal['goal']}: {sure}; {_number(goal['simulated'])} ({_ends(goal)})"
        labelled("goals" if not place else "", text, to, style)
    best = next(each for each in found["front"] if _same(each, found["recommended"]))
    labelled(
        "cost",
        f"a DDL statement takes {_number(best['ddl_latency_p99'])} ms (p99), "
        f"{_percent(best['waiting'])} of look-ups wait, {best['schema_abort_rate']:.2g} of "
        f"transactions abort for a schema change, {best['messages_per_s']:g} metadata messages/s",
        to,
    )


def _now(present: Part, best: Part) -> str:
    text = f"DD {present['dd_ms']}, H {present['h_ms']}, CSmax {present['cs_max_ms']} ms "
    if not present["meets"]:
        missed = " and ".join(goal["goal"] for goal in present["goals"] if not goal["met"])
        return text + f"does not meet {missed}"
    text += "meets every goal"
    if present["dd_can_be_lowered"]:
        return text + (
            f"; DD can be lowered safely by {present['dd_ms'] - best['dd_ms']} ms: with the "
            f"recommended numbers a DDL statement is {_number(present['ddl_latency_saved_ms'])} ms "
            "shorter"
        )
    if best["h_ms"] != present["h_ms"]:
        return text + "; DD can be lowered together with H only"
    return text + "; DD cannot be lowered safely"


def _wrong(found: Part, to: Console) -> None:
    """What happens if clocks are farther apart than CSmax."""
    for place, each in enumerate(found["skew"]):
        missed, broken, runs = (
            each["own_ddl_missed_runs"],
            each["atomicity_broken_runs"],
            each["runs"],
        )
        own = f"clients missed their own DDL in {missed} of {runs} runs"
        own = "no client missed its own DDL" if not missed else own
        atomic = "nodes never disagreed on a schema"
        atomic = f"NODES DISAGREED ON A SCHEMA in {broken} runs" if broken else atomic
        wait = f"p99 wait {_number(each['wait_p99'])} ms"
        head = f"{each['factor']:g} x CSmax: {own}, {atomic}, {wait}"
        labelled("real skew" if not place else "", head, to, "red" if broken else "")


def _front(front: list[Part], best: Part, to: Console) -> None:
    """The trade-off: some rows around the answer."""
    to.print()
    same = [each for each in front if each["h_ms"] == best["h_ms"]]
    at = next(place for place, each in enumerate(same) if _same(each, best))
    chosen = _spread(same, at)
    say(f"trade-off at H {best['h_ms']} ms (* nobody beats it)", to, "bold")
    to.print(
        f"  {'DD':>6} {'CSmax':>6} {'waits':>8} {'p99 wait ms':>22} {'DDL p99 ms':>11} "
        f"{'aborts':>9}",
        soft_wrap=True,
    )
    for each in chosen:
        mark = "*" if each["on_front"] else " "
        note = "  recommended" if _same(each, best) else "  knee" if each["knee"] else ""
        ends = f"{_number(each['wait_p99_low'])} to {_number(each['wait_p99_high'])}"
        wait = f"{_number(each['wait_p99'])} ({ends})"
        to.print(
            f"{mark} {each['dd_ms']:>6} {each['cs_max_ms']:>6} {_percent(each['waiting']):>8} "
            f"{wait:>22} {_number(each['ddl_latency_p99']):>11} "
            f"{each['schema_abort_rate']:>9.2g}{note}",
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
    to.print()
    off = [each for each in lines if not each["agrees"]]
    told = f"{len(lines) - len(off)} of {len(lines)} figures inside the bracket of the closed form"
    labelled("formula", told, to, "yellow" if off else "green")
    for each in off:
        bracket = f"{_number(each['unordered'])} to {_number(each['ordered'])}"
        labelled(
            "",
            f"DD {each['dd_ms']}, H {each['h_ms']}: {each['figure']} is "
            f"{_number(each['simulated'])} ({_ends(each)}), by formula {bracket}",
            to,
        )


def _same(each: Part, best: Part) -> bool:
    return all(each[key] == best[key] for key in ("dd_ms", "h_ms", "cs_max_ms"))


def _ends(each: Part) -> str:
    return f"{_number(each['low'])} to {_number(each['high'])}"


def _span(ends: list[float]) -> str:
    return f"{ends[0]:g} to {ends[1]:g}"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"
