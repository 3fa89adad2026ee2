"""What is wrong with the words of a command line, in one line with a remedy."""

import os

import click
from click import Argument, Option
from click.core import ParameterSource

from ddlsim.cli.flags.flag import is_switch
from ddlsim.cli.flags.values import Known
from ddlsim.cli.problems import near


def sentence(error: click.UsageError) -> str:
    """What is wrong, and what to do about it."""
    context = error.ctx
    verb = "" if context is None or context.parent is None else f"{context.info_name}: "
    if isinstance(error, click.NoSuchCommand):
        group = context.command if context is not None else None
        verbs = list(group.commands) if isinstance(group, click.Group) else []
        return f"no verb is called {error.command_name!r}; {near(error.command_name, verbs)}"
    if isinstance(error, click.NoSuchOption):
        if context is None or not verb:
            return f"{error.option_name}: the verb comes first; see ddlsim --help"
        flags = [max(p.opts, key=len) for p in context.command.params if isinstance(p, Option)]
        known = near(error.option_name, ["--help", *flags], cutoff=0.7)
        return f"{verb}unknown flag {error.option_name}; {known}"
    if isinstance(error, click.BadOptionUsage) and context is not None:
        param = next(p for p in context.command.params if error.option_name in p.opts)
        what = "takes no value" if is_switch(param) else "a value is missing"
        return f"{verb}{error.option_name}: {what}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return _of_parameter(error, error.param, verb)
    return f"{verb}{error.message}"


def _of_parameter(error: click.BadParameter, param: click.Parameter, verb: str) -> str:
    """What is wrong with a value, by the name under which it was given."""
    name = param.human_readable_name if isinstance(param, Argument) else max(param.opts, key=len)
    name = name.strip("[].")
    if isinstance(error, click.MissingParameter):
        known = f"; known: {', '.join(param.type.choices)}" if isinstance(param.type, Known) else ""
        return f"{verb}{name} is missing{known}"
    given = None if error.ctx is None else error.ctx.get_parameter_source(param.name)
    if given is not ParameterSource.ENVIRONMENT:
        return f"{verb}{name}: {error.message}"
    if is_switch(param):
        return f"{param.envvar}: expected 1 or 0, not {os.environ[str(param.envvar)]!r}"
    return f"{param.envvar}: {error.message}"
