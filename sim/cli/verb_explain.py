"""`ddlsim explain`: the arguments against a history in words, each in full."""

import argparse

from analysis import aggregate
from sim.cli import repeat, view, view_figures
from sim.cli.words import command, console, say, verdict
from sim.history import codec
from sim.registry import load_file
from sim.world import findings
from sim.world.campaign import row_of


def execute(options: argparse.Namespace) -> int:
    """Judge a history and tell everything that its judges have to say."""
    for file in options.load:
        load_file(file)
    history = codec.load(options.history)
    header = history.header
    row = row_of(
        history, strict=options.strict, all_claims=options.all_claims, known=findings.known()
    )
    to = console()
    design = row.strategy if row.mutant is None else f"{row.strategy} + {row.mutant}"
    verdict(row.outcome, f"{row.scenario}, seed {row.seed}", to)
    say(f"design {design}, fingerprint {row.fingerprint}", to)
    if row.figures is not None:
        to.print()
        view_figures.show(row.figures, to)
    view.findings(aggregate.found([row]), [row], to, all_in_full=True)
    view.troubles([row], to)
    if unmet := [probe for probe in header.reaches if not row.reached[probe]]:
        to.print()
        say(f"never reached {', '.join(unmet)}", to)
    to.print()
    command(repeat.of_header(header), to)
    return 0
