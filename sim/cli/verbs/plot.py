"""`ddlsim plot`: one figure of a sweep, or of the history of one run."""

from pathlib import Path

from ddlsim.cli import streams
from ddlsim.cli.options import Options
from ddlsim.escape import escaped


def execute(options: Options) -> int:
    """Draw it, and tell where it is."""
    from ddlsim.analysis.figures import figure

    source = Path(options.source)
    folder = source if source.is_dir() else source.parent
    target = Path(options.out) if options.out else folder / f"{options.name}.svg"
    figure.write(options.name, source, target)
    streams.write(escaped(str(target), keep=""))
    return 0
