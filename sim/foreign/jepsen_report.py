"""A Jepsen history's verdict as the command line and its JSON want it."""

import gc

from ddlsim.foreign import jepsen
from ddlsim.foreign.inputs import OUTCOMES, Report, looked_for


def judge(path: str, model: str) -> Report:
    """Read and judge a file; `ForeignError` if there is nothing to be judged in it."""
    looks = gc.isenabled()
    gc.disable()  # what is read lives until the verdict: looking for garbage only costs
    try:
        history = jepsen.load(path)
        return report(jepsen.judge(history, model, path))
    finally:
        if looks:
            gc.enable()


def report(judged: jepsen.Judged) -> Report:
    """A verdict as a report."""
    verdict, counts = judged.verdict, judged.counts
    data = verdict.as_data(judged.history.name)
    fields = {
        "valid": data["valid"],
        "model": data["model"],
        "workload": judged.workload,
        "transactions": counts,
        "anomalies": data["anomalies"],
        "counts": data["counts"],
        "violations": [],
        "not": data["not"],
        "notes": data["notes"],
    }
    told = ", ".join(f"{count:,} {how}" for how, count in counts.items() if count)
    facts = f"{judged.workload}, {told}; model {verdict.model}"
    if verdict.ruled_out:
        facts += f"; not {', '.join(verdict.ruled_out)}"
    many = dict(verdict.counts)
    found = tuple(
        (_headline(one.type, many.pop(one.type, 0)), one.explanation) for one in verdict.anomalies
    )
    checked = (*looked_for(verdict.model), ("transactions", told), ("workload", judged.workload))
    return Report(OUTCOMES[verdict.valid], fields, facts, found, verdict.notes, checked)


def _headline(type_: str, count: int) -> str:
    """What was found; the first of its type tells how often."""
    return type_ if count < 2 else f"{type_}, {count:,} times"
