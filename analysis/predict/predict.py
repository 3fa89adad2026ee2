"""The document of `ddlsim tune --from`: what is predicted for a database, and what it did.

Intervals are 95 %: of predictions over resampled slices of the calm recording, of the simulator
over seeds, of measurements over resampled statements of DDL (slices of time, for shares of aborts).
They hold what the sample leaves open, not what the model leaves out: where two of them do not
overlap, the model is wrong there, and `wrong` says so.
"""

from math import isfinite
from typing import Any, Final

import numpy as np

from ddlsim.analysis.predict.calibrated import Calibrated, Calm, calibrate
from ddlsim.analysis.predict.lock_queue import Forecast, Load, forecast
from ddlsim.analysis.predict.measured import NAMES, TAIL, measure, windows
from ddlsim.analysis.predict.recorded import Recorded, read
from ddlsim.analysis.predict.simulated import simulate
from ddlsim.analysis.stats.intervals import Array, meets
from ddlsim.analysis.tune.goals import TuneError

FORMAT: Final = 1
WRITER: Final = "ddlsim tune --from"
RESAMPLES: Final = 60
STRATEGIES: Final = ("b16_mdl", "postgresql")
"""The designs of the simulator that stand beside the closed form."""
MEANINGS: Final = {
    "ddl_wait_mean": ("ms", "how long DDL waits for the users of its table, mean"),
    "ddl_latency_mean": ("ms", "how long DDL takes until its answer, mean"),
    "ddl_latency_p50": ("ms", "median of that"),
    "ddl_latency_p95": ("ms", "95th percentile of that"),
    "ddl_timeout_share": ("share", "DDL whose wait for the lock reached its time limit"),
    "stalled_per_ddl": ("statements", "DML statements that stall behind one statement of DDL"),
    "stall_mean": ("ms", "how long such a statement stalls, mean"),
    "stall_p95": ("ms", "95th percentile of that"),
    "abort_share": ("share", "clients' transactions that abort, for whatever reason"),
    "lock_abort_share": ("share", "those that abort since a lock was not free in time"),
}
"""Unit and meaning of each quantity."""
assert tuple(MEANINGS) == NAMES
Interval = dict[str, float | None]


def predict(calm_folder: str, loaded_folder: str | None, seeds: range) -> dict[str, Any]:
    """Calibrate in one recording, predict for another one, and measure that; `TuneError` where one
    of them lacks something. Without another one, the calm one's own load is predicted.
    """
    calm = read(calm_folder)
    _ = calm.lock_ms  # raises for a database without such a lock
    calibration = calibrate(calm)
    loaded = calm if loaded_folder is None else _alike(calm, read(loaded_folder))
    lock_ms = loaded.lock_ms
    load = Load(
        loaded.head.clients, len(loaded.head.tables), lock_ms,
        len(loaded.changes) / len(loaded.clients),
    )  # fmt: skip
    known = calibration.whole
    predicted = _with_intervals(calibration, load)
    over = known.over(load.tables)
    simulated = {
        name: simulate(name, over, load.clients, lock_ms, seeds) for name in STRATEGIES
    } if seeds else {}  # fmt: skip
    measured = None if loaded_folder is None else measure(loaded, known)
    quantities = [
        _quantity(name, predicted[name], simulated, None if measured is None else measured[name])
        for name in NAMES
    ]
    return {
        "format": FORMAT,
        "writer": WRITER,
        "calm": _about(calm),
        "loaded": None if loaded_folder is None else _about(loaded),
        "lock_ms": lock_ms,
        "calibrated": _parameters(known),
        "quantities": quantities,
        "explained": None if measured is None else _explained(loaded, known),
        "wrong": [_wrong(one) for one in quantities if one["agrees"] is False],
    }


def _alike(calm: Recorded, loaded: Recorded) -> Recorded:
    for name in ("database", "server", "workload", "isolation"):
        one, other = getattr(calm.head, name), getattr(loaded.head, name)
        if one != other:
            raise TuneError(
                f"--against {loaded.folder}: its {name} is {other}, that of --from is {one}; "
                "record both alike"
            )
    return loaded


def _with_intervals(calm: Calm, load: Load) -> dict[str, tuple[float, float, float]]:
    whole = forecast(calm.whole, load)
    again = [forecast(one, load) for one in calm.resampled(RESAMPLES)]
    return {name: (getattr(whole, name), *_ends(again, name)) for name in NAMES}


def _ends(again: list[Forecast], name: str) -> tuple[float, float]:
    low, high = np.quantile([getattr(one, name) for one in again], [TAIL, 1 - TAIL])
    return float(low), float(high)


def _quantity(
    name: str,
    predicted: tuple[float, float, float],
    simulated: dict[str, dict[str, tuple[float, float, float]]],
    measured: tuple[float, float, float] | None,
) -> dict[str, Any]:
    unit, meaning = MEANINGS[name]
    agrees = None
    if measured is not None:
        agrees = meets(predicted[1], predicted[2], *measured)
    return {
        "name": name,
        "meaning": meaning,
        "unit": unit,
        "predicted": _interval(predicted),
        "simulated": [
            {"strategy": strategy, **_interval(found[name])}
            for strategy, found in simulated.items()
            if name in found
        ],
        "measured": None if measured is None else _interval(measured),
        "agrees": agrees,
    }


def _interval(found: tuple[float, float, float]) -> Interval:
    value, low, high = (round(each, 6) if isfinite(each) else None for each in found)
    return {"value": value, "low": low, "high": high}


def _wrong(one: dict[str, Any]) -> str:
    said, was = one["predicted"], one["measured"]
    way = "too small" if said["value"] < was["value"] else "too large"
    return (
        f"{one['name']}: {said['value']:.3g} was predicted, {was['value']:.3g} measured, and the "
        f"intervals do not overlap: the prediction is {way}"
    )


def _about(recorded: Recorded) -> dict[str, Any]:
    head = recorded.head
    low, high = recorded.span
    return {
        "directory": recorded.folder,
        "database": head.database,
        "server": head.server,
        "isolation": head.isolation,
        "workload": head.workload,
        "clients": head.clients,
        "tables": len(head.tables),
        "ddl_per_s": head.ddl_per_s,
        "seconds": round((high - low) / 1_000, 3),
        "transactions": len(recorded.clients),
        "statements_of_ddl": len(recorded.changes),
    }


def _parameters(known: Calibrated) -> dict[str, Any]:
    """Of each sample its mean, median and 95th percentile in ms."""
    samples = {
        "transaction_ms": known.spans,
        "statement_ms": known.takes,
        "think_ms": known.thinks,
        "hold_ms": known.holds,
        "gap_ms": known.gaps,
        "execute_ms": known.executes,
        "keep_ms": known.keeps,
    }
    return {
        **{name: _sample(values) for name, values in samples.items()},
        "used_share": round(known.used, 6),
        "conflict_share": round(known.conflicts, 6),
    }


def _sample(values: Array) -> dict[str, float]:
    middle, tail = np.quantile(values, [0.5, 0.95])
    return {
        "count": len(values),
        "mean": round(float(values.mean()), 4),
        "p50": round(float(middle), 4),
        "p95": round(float(tail), 4),
    }


def _explained(loaded: Recorded, known: Calibrated) -> dict[str, Any]:
    """Statement by statement: the wait beside the time for which earlier users went on.

    `others` is the share of DDL that took more than twice its usual execution longer than that:
    what no lock on the table explains.
    """
    found = windows(loaded, float(np.median(known.takes)))
    usual = float(np.quantile(known.executes, 0.95))
    waits = np.array([one.explained for one in found])
    latencies = np.array([one.latency for one in found])
    related = float(np.corrcoef(waits, latencies)[0, 1]) if waits.std() and latencies.std() else 0.0
    return {
        "correlation": round(related, 4),
        "others": round(float(np.mean(latencies - waits > 2 * usual)), 4),
        "mean_ms": round(float(waits.mean()), 4),
    }
