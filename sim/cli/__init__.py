"""The roof: arguments in, exit code out; the only place that prints. Nothing imports it."""

from ddlsim.cli.main import main

__all__ = ["main"]
