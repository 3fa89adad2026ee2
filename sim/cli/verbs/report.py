"""`ddlsim report`: one self-contained page about a sweep."""

from pathlib import Path

from ddlsim.cli import streams
from ddlsim.cli.options import Options
from ddlsim.escape import escaped


def execute(options: Options) -> int:
    """Write the page, and tell where it is."""
    from ddlsim.analysis.figures import report

    source = Path(options.source)
    target = Path(options.out) if options.out else source / "report.html"
    report.write(source, target)
    streams.write(escaped(str(target), keep=""))
    return 0
