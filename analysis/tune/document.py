"""The advice as one document: the output of `--output json`, `tune.json`, the input of pages.

Times are ms, rates shares, `low` and `high` 95 % intervals over seeds. A figure of which the runs
observed nothing is null.
"""

from typing import Any, Final

import numpy as np

from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula.comparison import acknowledge_ms
from ddlsim.analysis.formula.wait_model import COARSE, Ends
from ddlsim.analysis.stats import intervals
from ddlsim.analysis.tune import agreement
from ddlsim.analysis.tune.advise import Advice
from ddlsim.analysis.tune.cells import CLIENT_MS, Setting
from ddlsim.analysis.tune.goals import RATE, Goal
from ddlsim.analysis.tune.judge import Assessment
from ddlsim.analysis.tune.runs import Figures
from ddlsim.analysis.tune.search import front, knee
from ddlsim.analysis.tune.world import by_name

FORMAT: Final = 2
WRITER: Final = "ddlsim tune"
WAIT_TAIL: Final = Goal("dml_wait_p99", 0.0)
DDL_TAIL: Final = Goal("ddl_latency_p99", 0.0)
COLUMNS: Final = {
    "wait_p99": WAIT_TAIL,
    "ddl_latency_p99": DDL_TAIL,
    "dml_latency_p99": Goal("dml_latency_p99", 0.0),
    RATE: Goal(RATE, 0.0),
}
"""The figures of every setting, whatever the goals are."""
OWN_DDL, ATOMICITY = "I4", "I1"
CURVE: Final = 60
"""The number of points of the curve by formula."""


def document(advice: Advice) -> dict[str, Any]:
    """The document of an advice."""
    request = advice.request
    found = {
        "format": FORMAT,
        "writer": WRITER,
        "asked": _request(advice),
        "recommended": _recommended(advice),
        "cs_max": _cs_max(advice),
        "goals": _goals(advice, advice.recommended),
        "present": _present(advice),
        "tried": [{**agreement.cell_of(one), "goals": _goals(advice, one)} for one in advice.tried],
        "front": _front(advice),
        "curve": _curve(advice),
        "skew": [_skew(advice, factor) for factor in advice.skewed],
        "agreement": _agreement(advice),
        "runs": {
            "seeds": [request.seeds.start, request.seeds.stop - 1],
            "each": len(request.seeds),
            "search": advice.search_runs,
            "all": advice.runs,
            "lost": sum(len(each.lost) for each in _every(advice)),
            "fine_grid": (max(request.present.dd, advice.interval[1]) // request.step + 1)
            * len(request.seeds),
        },
    }
    return {name: without_nan(part) for name, part in found.items()}


def without_nan(part: Any) -> Any:
    """A part of the document with null for every NaN, which JSON has no number for."""
    if isinstance(part, dict):
        return {key: without_nan(each) for key, each in part.items()}
    if isinstance(part, list):
        return [without_nan(each) for each in part]
    return None if isinstance(part, float) and np.isnan(part) else part


def _every(advice: Advice) -> list[Figures]:
    statements = [price.statements for price in advice.prices.values()]
    found = [*advice.looks.values(), *statements, *advice.skewed.values()]
    return found if advice.calm is None else [*found, advice.calm]


def _request(advice: Advice) -> dict[str, Any]:
    request = advice.request
    world = request.world
    return {
        "goals": [goal.text for goal in request.goals],
        "waits": [goal.text for goal in request.waits],
        "strategy": request.strategy,
        "present": agreement.cell_of(request.present),
        "ddl_rate_per_s": request.ddl_rate,
        "incompatible_share": request.load.incompatible,
        "tx_length_ms": request.load.tx_length,
        "nodes": list(world.nodes),
        "voters": world.voters,
        "voting": list(by_name((world.leader, *world.others))),
        "voters_chosen": request.chosen.voters,
        "leader": world.leader,
        "leader_chosen": request.chosen.leader,
        "delays": None if world.delays is None else _measured(world.delays.pooled),
        "offsets": None if world.offsets is None else _measured(world.offsets.pooled),
        "step_ms": request.step,
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
        **agreement.cell_of(advice.recommended),
        "dd_least_ms": advice.needed,
        "dd_interval_ms": list(advice.interval),
        "dd_over_seeds_ms": [round(end, 1) for end in advice.over_seeds],
        "dd_over_sample_ms": None if sample is None else [round(end, 1) for end in sample],
        "h_most_ms": advice.h_most[0],
        "h_most_interval_ms": list(advice.h_most[1:]),
        "dd_surely_ms": advice.sure,
        "dd_excluded_ms": advice.excluded,
        "messages_per_s": _messages(advice, advice.recommended),
        "knee_dd_ms": next((each["dd_ms"] for each in _front(advice) if each["knee"]), None),
    }


def _messages(advice: Advice, setting: Setting) -> float:
    """Metadata commands sent to nodes per second, as measured without DDL."""
    others = len(advice.request.world.nodes) - 1
    return round(others * advice.looks[setting].commands_per_s, 1)


def _cs_max(advice: Advice) -> dict[str, Any] | None:
    bound = advice.request.clocks
    if bound is None:
        return None
    return {
        "cs_max_ms": bound.cs_max_ms,
        "largest_ms": bound.largest_ms,
        "margin_ms": bound.margin_ms,
        "between": None if bound.between is None else list(bound.between),
        "basis": bound.basis,
        "range_ms": bound.range_ms,
        "spare_ms": bound.spare_ms,
        "broken_by": list(bound.events),
        "seen": bound.seen,
        "next_larger": round(bound.next_larger, 6),
        "share_most": round(bound.share_most, 6),
        "assumed": "no clock steps or loses its time server",
    }


# --- goals, the present setting ------------------------------------------------------------------


def _goals(advice: Advice, setting: Setting) -> list[dict[str, Any]]:
    """Each goal under a setting, with its figure, interval and whether it is met.

    `high` is null where nothing bounds it; about `seeds` seeds would decide the goal.
    """
    request = advice.request
    goals = [*request.waits, *request.latencies, *([request.aborts] if request.aborts else [])]
    return [_judged(advice.judged(goal, setting)) for goal in goals]


def _judged(found: Assessment) -> dict[str, Any]:
    return {
        "goal": found.goal.text,
        "metric": found.goal.metric,
        "simulated": _round(found.point),
        "low": _round(found.low),
        "high": _end(found.high),
        "high_by": found.high_by,
        "met": found.met,
        "sure": found.sure,
        "seeds": found.seeds,
        "above_most": None if found.above_most is None else _round(found.above_most),
    }


def _present(advice: Advice) -> dict[str, Any]:
    """The present setting, and whether its DD can be lowered."""
    request, best = advice.request, advice.recommended
    goals = _goals(advice, request.present)
    taken = {
        setting: advice.prices[setting].statements.point(DDL_TAIL)
        for setting in (request.present, advice.dd_alone, best)
    }
    saved = taken[request.present] - taken[best]
    by_dd = taken[request.present] - taken[advice.dd_alone]
    return {
        **agreement.cell_of(request.present),
        "goals": goals,
        "meets": all(goal["met"] for goal in goals),
        "dd_can_be_lowered": best.dd < request.present.dd and best.h == request.present.h,
        "ddl_latency_p99_ms": _round(taken[request.present]),
        "ddl_latency_saved_ms": _round(saved),
        "ddl_latency_saved_by_dd_ms": _round(by_dd),
        "ddl_latency_saved_by_cs_max_ms": _round(saved - by_dd),
        "messages_per_s": _messages(advice, request.present),
    }


# --- the front -----------------------------------------------------------------------------------


def _front(advice: Advice) -> list[dict[str, Any]]:
    """A row for every priced setting; `on_front` where no other one dominates it."""
    made: list[dict[str, Any]] = []
    for setting in sorted(advice.prices, key=lambda one: (one.cs_max, one.h, one.dd)):
        looks = advice.prices[setting].looks
        share, share_low, share_high = looks.waiting()
        row: dict[str, Any] = {
            **agreement.cell_of(setting),
            "waiting": _round(share),
            "waiting_low": _round(share_low),
            "waiting_high": _round(share_high),
            "mean_wait": _round(looks.point(agreement.MEAN)),
            "messages_per_s": _messages(advice, setting),
            "goals": _goals(advice, setting),
        }
        for name, goal in COLUMNS.items():
            found = advice.judged(goal, setting)
            row[name] = _round(found.point)
            row[f"{name}_low"], row[f"{name}_high"] = _round(found.low), _end(found.high)
            row[f"{name}_high_by"] = found.high_by
            if found.above_most is not None:
                row[f"{name}_above_most"] = _round(found.above_most)
        made.append(row)
    points = np.array([_figures(each) for each in made])
    on = front(np.where(np.isnan(points), np.inf, points))  # what was not observed beats nothing
    at = _knee(advice, made)
    for place, each in enumerate(made):
        each["on_front"] = on[place]
        each["knee"] = place == at
    return made


def _figures(row: dict[str, Any]) -> list[float]:
    """The figures of a row to be minimized: its columns, and the metrics of the goals."""
    keys = ("waiting", "messages_per_s", *COLUMNS)
    return [row[key] for key in keys] + [goal["simulated"] for goal in row["goals"]]


def _knee(advice: Advice, made: list[dict[str, Any]]) -> int | None:
    """The index of the knee among settings that differ in DD alone, by the goals' metrics.

    The cost is the first goal of DDL latency (or its p99), the gain the mean of the goals of waits,
    each scaled to 0..1 over these settings.
    """
    best = advice.recommended
    same = [
        place
        for place, each in enumerate(made)
        if (each["h_ms"], each["cs_max_ms"]) == (best.h, best.cs_max)
    ]
    if len(same) < 3:
        return None
    count = len(advice.request.waits)
    waits = np.array([[goal["simulated"] for goal in made[p]["goals"][:count]] for p in same])
    width = np.ptp(waits, axis=0)
    gains = ((waits - waits.min(axis=0)) / np.where(width > 0, width, 1.0)).mean(axis=1)
    latencies = advice.request.latencies
    costs = np.array([
        made[p]["goals"][count]["simulated"] if latencies else made[p]["ddl_latency_p99"]
        for p in same
    ])  # fmt: skip
    at = knee(costs, gains)
    return None if at is None else same[at]


def _curve(advice: Advice) -> dict[str, Any]:
    """The waits and the DDL delay by formula, over DD at the recommended H."""
    request, h = advice.request, advice.h
    model = request.world.wait(COARSE, h, request.mu)
    most = max(2 * advice.recommended.dd, request.present.dd, 10)
    dds = [round(float(dd)) for dd in np.linspace(0, most, CURVE)]
    slack = [request.slack(dd) for dd in dds]

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
        "ddl_delay": [request.ddl_delay(dd) for dd in dds],
    }


# --- skew, agreement -----------------------------------------------------------------------------


def _skew(advice: Advice, factor: float) -> dict[str, Any]:
    figures = advice.skewed[factor]
    runs, broken = len(figures.rows), figures.breaches(ATOMICITY)
    return {
        "factor": factor,
        "skew_ms": factor * advice.recommended.cs_max,
        "runs": runs,
        "own_ddl_missed_runs": figures.breaches(OWN_DDL),
        "atomicity_broken_runs": broken,
        "atomicity_broken_most": _round(_share_most(broken, runs)),
        "wait_p99": _round(figures.point(WAIT_TAIL)),
        "by_formula_missed": _missed(advice, factor * advice.recommended.cs_max),
        "ahead": advice.request.world.far_apart[0],
        "behind": advice.request.world.far_apart[1],
        "broken": [
            {"invariant": invariant, "status": status, "runs": count}
            for (invariant, status), count in figures.broken().items()
        ],
    }


def _missed(advice: Advice, skew_ms: float) -> bool | None:
    """Whether a client may miss its own DDL by formula 6.5; the way is two of its messages."""
    told = acknowledge_ms(advice.request.design, advice.recommended.cs_max)
    if told is None:
        return None
    return bool(forms.own_ddl_missed_at(skew_ms, told, 2 * CLIENT_MS))


def _share_most(hits: int, runs: int) -> float:
    """The upper end of the share of runs."""
    return float(intervals.share_of_runs(hits, runs)[1])


def _agreement(advice: Advice) -> list[dict[str, Any]]:
    request = advice.request
    found = [
        line
        for setting, figures in sorted(advice.looks.items(), key=lambda item: item[0].dd)
        for line in agreement.lines(request, setting, figures)
    ]
    if advice.calm is not None:
        best = advice.recommended
        figures = advice.prices[best].statements
        found.append(agreement.abort_line(request, best, figures, advice.calm))
    return [
        {
            **line.cell,
            "figure": line.figure,
            "simulated": _round(line.simulated),
            "low": _round(line.low),
            "high": _end(line.high),
            "unordered": _round(line.formula.unordered),
            "ordered": _round(line.formula.ordered),
            "agrees": line.agrees,
        }
        for line in found
    ]


def _end(value: float) -> float | None:
    """An end of an interval; None where it is infinite."""
    return None if np.isinf(value) else _round(value)


def _round(value: float) -> float:
    """The value with six significant digits."""
    return float(f"{value:.6g}")
