"""`ddlsim report`: one self-contained page about a sweep."""

import argparse
from pathlib import Path


def execute(options: argparse.Namespace) -> int:
    """Write the page, and tell where it is."""
    from analysis import report

    source = Path(options.source)
    target = Path(options.out) if options.out else source / "report.html"
    report.write(source, target)
    print(target)
    return 0
