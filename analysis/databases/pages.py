"""Writes the study: figures, one HTML page that loads nothing, and the README."""

from pathlib import Path
from typing import Final

from markupsafe import Markup

from ddlsim import pages
from ddlsim.analysis.databases import figures, markdown, view
from ddlsim.analysis.databases.findings import FINDINGS, NOTHING, PROMISES
from ddlsim.analysis.databases.scripts import all_of
from ddlsim.analysis.databases.view import SAID, Json
from ddlsim.analysis.figures.drawing import own_ids, save, styled, svg_text
from ddlsim.files import write_text

TEMPLATE: Final = "databases.html.j2"
DRAWN: Final = {"around": figures.around, "durations": figures.durations}


def write(study: Json, folder: Path, scripts: Path) -> None:
    """Write all of it into a folder."""
    shown = view.of(study)
    with styled():
        for name, draw in DRAWN.items():
            save(draw(study["cells"]), folder / f"{name}.svg")
    write_text(folder / "README.md", markdown.page(shown, study["command"]))
    write_text(folder / "page.html", html(study, shown, scripts))


def html(study: Json, shown: view.View, scripts: Path) -> str:
    """The page as text."""
    with styled():
        drawn = [
            (name, Markup(own_ids(svg_text(draw(study["cells"])), name)))
            for name, draw in DRAWN.items()
        ]
    template = pages.environment("ddlsim.analysis").get_template(TEMPLATE)
    return template.render(
        view=shown,
        findings=FINDINGS,
        nothing=NOTHING,
        promises=PROMISES.values(),
        scripts={one.name: one for one in all_of(scripts)},
        command=study["command"],
        figures=drawn,
        said=SAID,
        cost_head=markdown.COST_HEAD[1:],
        cost_says=markdown.COST_SAYS.replace("`", ""),
        left_out=markdown.LEFT_OUT.replace("`", ""),
        table_says=markdown.TABLE_SAYS,
    )
