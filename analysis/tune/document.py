"""The advice as one document: what `--output json` prints, `tune.json` holds and pages are made of.

Times are ms, rates shares, `low` and `high` 95 % intervals over seeds.
"""

from typing import Any, Final

import numpy as np

from analysis import closed_forms as forms
from analysis.tune import beside
from analysis.tune.advise import Advice
from analysis.tune.asked import coarse
from analysis.tune.cells import Setting
from analysis.tune.goals import RATE, Goal
from analysis.tune.runs import Figures
from analysis.tune.search import front, knee
from analysis.wait_model import Ends

FORMAT: Final = 1
WRITER: Final = "ddlsim tune"
WAIT_TAIL: Final = Goal("dml_wait_p99", 0.0)
DDL_TAIL: Final = Goal("ddl_latency_p99", 0.0)
OWN_DDL, ATOMICITY = "I4", "I1"
CURVE: Final = 60
"""Points of the curve by formula."""


def document(advice: Advice) -> dict[str, Any]:
    """Everything that was found."""
    asked = advice.asked
    return {
        "format": FORMAT,
        "writer": WRITER,
        "asked": _asked(advice),
        "recommended": _recommended(advice),
        "cs_max": _cs_max(advice),
        "goals": _goals(advice, advice.recommended, "recommended"),
        "present": _present(advice),
        "front": _front(advice),
        "curve": _curve(advice),
        "skew": [_skew(advice, factor) for factor in advice.skewed],
        "agreement": _agreement(advice),
        "runs": {
            "seeds": [asked.seeds.start, asked.seeds.stop - 1],
            "search": advice.search_runs,
            "all": advice.runs,
            "lost": sum(len(each.lost) for each in _every(advice)),
            "fine_grid": (max(asked.present.dd, advice.interval[1]) // asked.step + 1)
            * len(asked.seeds),
        },
    }


def _every(advice: Advice) -> list[Figures]:
    found = [*advice.looks.values(), *advice.statements.values(), *advice.skewed.values()]
    return found if advice.calm is None else [*found, advice.calm]


def _setting(setting: Setting) -> dict[str, int]:
    return {"dd_ms": setting.dd, "h_ms": setting.h, "cs_max_ms": setting.cs_max}


def _asked(advice: Advice) -> dict[str, Any]:
    asked = advice.asked
    world = asked.world
    return {
        "goals": [goal.text for goal in asked.goals],
        "waits": [goal.text for goal in asked.waits],
        "strategy": asked.strategy,
        "present": _setting(asked.present),
        "ddl_rate_per_s": asked.ddl_rate,
        "incompatible_share": asked.load.incompatible,
        "tx_length_ms": asked.load.tx_length,
        "nodes": list(world.nodes),
        "voters": world.voters,
        "leader": world.leader,
        "delays": None if world.delays is None else _measured(world.delays.pooled),
        "offsets": None if world.offsets is None else _measured(world.offsets.pooled),
        "step_ms": asked.step,
    }


def _measured(values: tuple[float, ...]) -> dict[str, Any]:
    p50, p99 = np.quantile(values, [0.5, 0.99])
    return {
        "count": len(values),
        "least": min(values),
        "p50": round(float(p50), 3),
        "p99": round(float(p99), 3),
        "largest": max(values),
    }


def _recommended(advice: Advice) -> dict[str, Any]:
    sample = advice.over_sample
    return {
        **_setting(advice.recommended),
        "dd_least_ms": advice.needed,
        "dd_interval_ms": list(advice.interval),
        "dd_over_seeds_ms": [round(end, 1) for end in advice.over_seeds],
        "dd_over_sample_ms": None if sample is None else [round(end, 1) for end in sample],
        "h_most_ms": advice.h_most[0],
        "h_most_interval_ms": list(advice.h_most[1:]),
        "messages_per_s": _messages(advice, advice.recommended.h),
        "knee_dd_ms": next((each["dd_ms"] for each in _front(advice) if each["knee"]), None),
    }


def _messages(advice: Advice, h: int) -> float:
    nodes = len(advice.asked.world.nodes) - 1
    return round(float(forms.messages_per_second(nodes, h, advice.asked.mu)), 1)


def _cs_max(advice: Advice) -> dict[str, Any] | None:
    bound = advice.asked.clocks
    if bound is None:
        return None
    return {
        "cs_max_ms": bound.cs_max_ms,
        "largest_ms": bound.largest_ms,
        "margin_ms": bound.margin_ms,
        "between": None if bound.between is None else list(bound.between),
        "seen": bound.seen,
        "next_larger": round(bound.next_larger, 6),
        "share_most": round(bound.share_most, 6),
        "assumed": "clocks go on as in the sample: none steps, none loses its time server",
    }


# --- goals, the present setting ------------------------------------------------------------------


def _goals(advice: Advice, setting: Setting, name: str) -> list[dict[str, Any]]:
    """Each goal under a setting: what it came to, and whether the interval is all below."""
    asked = advice.asked
    goals = [*asked.waits, *asked.latencies, *([asked.aborts] if asked.aborts else [])]
    made = []
    for goal in goals:
        if goal.of == "ddl_latency":
            figures = advice.statements[name]
            point, (low, high) = figures.point(goal), figures.interval(goal)
        elif goal.metric == RATE:
            point, low, high = beside.abort_rate(asked, advice.statements[name])
        else:
            figures = advice.looks[setting]
            point, (low, high) = figures.point(goal), figures.interval(goal)
        made.append(
            {
                "goal": goal.text,
                "simulated": _round(point),
                "low": _round(low),
                "high": _round(high),
                "met": point <= goal.limit,
                "sure": high <= goal.limit,
            }
        )
    return made


def _present(advice: Advice) -> dict[str, Any]:
    """The setting of today, and whether it could be lowered."""
    asked, best = advice.asked, advice.recommended
    goals = _goals(advice, asked.present, "present")
    saved = advice.statements["present"].point(DDL_TAIL) - advice.statements["recommended"].point(
        DDL_TAIL
    )
    return {
        **_setting(asked.present),
        "goals": goals,
        "meets": all(goal["met"] for goal in goals),
        "dd_can_be_lowered": best.dd < asked.present.dd and best.h == asked.present.h,
        "ddl_latency_p99_ms": _round(advice.statements["present"].point(DDL_TAIL)),
        "ddl_latency_saved_ms": _round(saved),
        "messages_per_s": _messages(advice, asked.present.h),
    }


# --- the front -----------------------------------------------------------------------------------


def _front(advice: Advice) -> list[dict[str, Any]]:
    """Every setting that was run: wait, latency of DDL, aborts; who is beaten; the knee."""
    asked = advice.asked
    best = advice.statements["recommended"]
    extra = best.point(DDL_TAIL) - asked.ddl_delay(advice.recommended.dd)
    aborts = beside.abort_rate(asked, best)[0]
    made: list[dict[str, Any]] = []
    for setting, figures in sorted(
        advice.looks.items(), key=lambda item: (item[0].cs_max, item[0].h, item[0].dd)
    ):
        low, high = figures.interval(WAIT_TAIL)
        share, share_low, share_high = figures.waiting()
        made.append(
            {
                **_setting(setting),
                "wait_p99": _round(figures.point(WAIT_TAIL)),
                "wait_p99_low": _round(low),
                "wait_p99_high": _round(high),
                "waiting": _round(share),
                "waiting_low": _round(share_low),
                "waiting_high": _round(share_high),
                "mean_wait": _round(figures.point(beside.MEAN)),
                "ddl_latency_p99": _round(asked.ddl_delay(setting.dd, setting.cs_max) + extra),
                "schema_abort_rate": _round(aborts),
                "messages_per_s": _messages(advice, setting.h),
            }
        )
    keys = ("wait_p99", "waiting", "ddl_latency_p99", "schema_abort_rate", "messages_per_s")
    on = front(np.array([[each[key] for key in keys] for each in made]))
    same = [place for place, each in enumerate(made) if each["cs_max_ms"] == asked.cs_max]
    at = knee(
        np.array([made[place]["ddl_latency_p99"] for place in same]),
        np.array([made[place]["wait_p99"] for place in same]),
    )
    for place, each in enumerate(made):
        each["on_front"] = on[place]
        each["knee"] = at is not None and place == same[at]
    return made


def _curve(advice: Advice) -> dict[str, Any]:
    """The same by formula, for every DD at the recommended H."""
    asked, h = advice.asked, advice.h
    model = asked.world.wait(coarse(), h, asked.mu)
    most = max(2 * advice.recommended.dd, asked.present.dd, 10)
    dds = [round(float(dd)) for dd in np.linspace(0, most, CURVE)]
    slack = [asked.slack(dd) for dd in dds]

    def ends(found: list[Ends]) -> dict[str, list[float]]:
        return {
            "unordered": [_round(each.unordered) for each in found],
            "ordered": [_round(each.ordered) for each in found],
        }

    return {
        "h_ms": h,
        "dd_ms": dds,
        "waiting": ends([model.probability(each) for each in slack]),
        "mean_wait": ends([model.mean(each) for each in slack]),
        "p99_wait": ends([model.quantile(0.99, each) for each in slack]),
        "ddl_delay": [asked.ddl_delay(dd) for dd in dds],
    }


# --- skew, agreement -----------------------------------------------------------------------------


def _skew(advice: Advice, factor: float) -> dict[str, Any]:
    figures = advice.skewed[factor]
    runs = len(figures.rows)
    return {
        "factor": factor,
        "skew_ms": factor * advice.recommended.cs_max,
        "runs": runs,
        "own_ddl_missed_runs": figures.breaches(OWN_DDL),
        "atomicity_broken_runs": figures.breaches(ATOMICITY),
        "atomicity_broken_most": _round(1 - 0.05 ** (1 / runs)),
        "wait_p99": _round(figures.point(WAIT_TAIL)),
        "by_formula_missed": factor > 1,
    }


def _agreement(advice: Advice) -> list[dict[str, Any]]:
    asked = advice.asked
    found = [
        line
        for setting, figures in sorted(advice.looks.items(), key=lambda item: item[0].dd)
        for line in beside.lines(asked, setting, figures)
    ]
    if advice.calm is not None:
        figures = advice.statements["recommended"]
        found.append(beside.abort_line(asked, advice.recommended, figures, advice.calm))
    return [
        {
            **_setting(line.setting),
            "figure": line.figure,
            "simulated": _round(line.simulated),
            "low": _round(line.low),
            "high": _round(line.high),
            "unordered": _round(line.formula.unordered),
            "ordered": _round(line.formula.ordered),
            "agrees": line.agrees,
        }
        for line in found
    ]


def _round(value: float) -> float:
    """Six significant digits: the rest would only look exact."""
    return float(f"{value:.6g}")
