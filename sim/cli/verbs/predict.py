"""`ddlsim tune --from`: DDL waits, stalls and aborts of a database, by a calm recording of it."""

import shlex
from pathlib import Path
from typing import Any, Final

from ddlsim import files
from ddlsim.analysis.figures.catalog import PREDICTION
from ddlsim.analysis.predict.predict import predict
from ddlsim.analysis.tune.goals import TuneError
from ddlsim.cli import streams
from ddlsim.cli.documents import documents
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.files import write_text

FILE: Final = PREDICTION


def execute(options: Options) -> int:
    """Predict, measure, tell both; 0 once there is an answer, 2 (by exception) where not."""
    if options.out is not None:
        claim(options.out)
    try:
        made = predict(options.calm, options.against, range(options.seeds))
    except TuneError as error:
        raise InputError(f"tune: {error}") from None
    made["command"] = command_of(options)
    if options.out is not None:
        write_text(Path(options.out, FILE), documents.text(made) + "\n")
    if options.output == "json":
        streams.write(documents.text(made))
    else:
        show(made, options.out)
    return 0


def claim(directory: str) -> None:
    """Make the directory of --out; `InputError` if it holds anything but a prediction."""
    files.no_file("--out", directory)
    path = Path(directory)
    files.make_folder(path)
    others = sorted(one.name for one in path.iterdir() if one.name not in {FILE, "prediction.svg"})
    if others:
        what = f"holds {others[0]}, which `tune --from` did not write"
        raise InputError(f"--out {directory}: {what}; name another directory")


def command_of(options: Options) -> str:
    """The command that answers the same again."""
    words = ["ddlsim", "tune", "--from", options.calm]
    words += ["--against", options.against] if options.against is not None else []
    return shlex.join([*words, "--seeds", str(options.seeds)])


def show(made: dict[str, Any], kept: str | None) -> None:
    """Print the answer as text."""
    from ddlsim.cli.views.words import command, console, labelled, say

    to = console()
    about = made["loaded"] or made["calm"]
    calm, known = made["calm"], made["calibrated"]
    say(f"{about['server']}, {about['isolation']}: {about['workload']}", to, "bold")
    labelled("calibrated", (
        f"{calm['transactions']:,} transactions of {calm['clients']} clients, "
        f"{calm['statements_of_ddl']} statements of DDL: a table is held for "
        f"{known['hold_ms']['mean']:.3g} ms, {known['used_share']:.0%} of a client's time; DDL "
        f"executes for {known['execute_ms']['mean']:.3g} ms, then {known['keep_ms']['mean']:.3g} "
        "ms pass until its transaction ends"
    ), to)  # fmt: skip
    labelled("for", (
        f"{about['clients']} clients over {about['tables']} tables; a wait for a lock ends after "
        f"{made['lock_ms']:g} ms"
    ), to)  # fmt: skip
    to.print()
    _table(made, to)
    to.print()
    explained = made["explained"]
    if explained is not None:
        labelled("one by one", (
            "users of the table that came before a statement of DDL went on for "
            f"{explained['mean_ms']:.3g} ms on average (correlation with its latency "
            f"{explained['correlation']:.2f}); {explained['others']:.0%} took longer than they "
            "explain"
        ), to)  # fmt: skip
    for one in made["wrong"]:
        labelled("wrong", one, to)
    if kept is not None:
        labelled("written", kept, to)
    command(made["command"], to)


def _table(made: dict[str, Any], to: Any) -> None:
    """All quantities; no figure and no mark is cut off where the terminal is narrow."""
    from ddlsim.cli.views import matrix

    designs = [one["strategy"] for one in made["quantities"][0]["simulated"]]
    lines = []
    for one in made["quantities"]:
        share = one["unit"] == "share"
        runs = {each["strategy"]: _number(each["value"], share=share) for each in one["simulated"]}
        cells = [_shown(one["predicted"], share=share)]
        if made["loaded"]:
            cells.append(_shown(one["measured"], share=share) + " *" * (one["agrees"] is False))
        cells += [runs.get(name, "-") for name in designs]
        lines.append(matrix.Line(one["name"], cells))
    columns = ("predicted", *(["measured"] if made["loaded"] else []), *designs)
    matrix.show(columns, lines, to)


def _shown(one: dict[str, float | None], *, share: bool) -> str:
    value, low, high = (_number(one[key], share=share) for key in ("value", "low", "high"))
    return f"{value} [{low.removesuffix(' %')}, {high.removesuffix(' %')}]"


def _number(value: float | None, *, share: bool) -> str:
    if value is None:
        return "∞"
    return f"{100 * value:.2f} %" if share else f"{value:.3g}"
