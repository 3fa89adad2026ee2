"""What a verb is made of: flags with their variables, and arguments."""

import shlex
from collections.abc import Callable, Sequence
from typing import Any, Final

import click
from click import Argument, Option
from click.core import ParameterSource

from ddlsim.cli.flags import complete
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError
from ddlsim.escape import no_flag

PREFIX: Final = "DDLSIM_"
PLACES: Final = ("out", "corpus")
"""Flags whose values are arguments of the commands that are printed."""


class Verb(click.Command):
    """A verb; invoked, it gives its name and options.

    A flag in `greedy` takes every word up to the next flag; `check` refuses options that do not go
    together.
    """

    def __init__(
        self,
        name: str,
        summary: str,
        params: list[click.Parameter],
        greedy: Sequence[str] = (),
        check: Callable[[click.Context], None] | None = None,
    ) -> None:
        super().__init__(
            name,
            params=params,
            callback=lambda **options: (name, Options(**options)),
            short_help=summary,
            help=f"{summary[0].upper()}{summary[1:]}.",
            epilog=_variables(params),
            context_settings={"allow_extra_args": True, "show_default": True},
        )
        self._greedy, self._check = greedy, check

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a word that no argument takes."""
        try:
            rest = super().parse_args(ctx, self._spread(args))
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise
        if ctx.resilient_parsing:
            return rest
        if rest:
            raise click.UsageError(f"unexpected argument {rest[0]!r}; see --help", ctx)
        for param in self.params:
            if isinstance(param, Argument) or param.name in PLACES:
                value = ctx.params[str(param.name)]
                safe = tuple(map(no_flag, value)) if isinstance(value, tuple) else no_flag(value)
                ctx.params[str(param.name)] = safe
        self.check(ctx)
        return rest

    def check(self, context: click.Context) -> None:
        """Refuse options that do not go together; a context's parameters are all known by then."""
        if self._check is not None:
            self._check(context)

    def _spread(self, words: list[str]) -> list[str]:
        """Words of which each value of a greedy flag has the flag before it."""
        spread: list[str] = []
        flag = ""
        for word in words:
            if word.startswith("-") and word != "-":
                flag = word if word in self._greedy else ""
            elif flag and spread[-1] != flag:
                spread.append(flag)
            spread.append(word)
        return spread


def _variables(params: Sequence[click.Parameter]) -> str | None:
    """The rule by which flags have variables, shown by the first of them."""
    for param in params:
        if param.envvar:
            flag = max(param.opts, key=len)
            return f"\b\nEach flag has an environment variable: {param.envvar} is {flag}."
    return None


def flag(name: str, what: str, metavar: str | None = None, **more: Any) -> Option:
    """A flag; one without a name for its value is on or off.

    `variable` is that of the environment where the rule's name already means something else.
    """
    return _flag(Option, name, what, {"metavar": metavar, **more} if metavar else {"is_flag": True})


def repeated(name: str, what: str, metavar: str, **more: Any) -> Option:
    """A flag that may be given several times."""
    return _flag(_Repeated, name, what, {"multiple": True, "metavar": metavar, **more})


def _flag(kind: type[Option], name: str, what: str, more: dict[str, Any]) -> Option:
    variable = more.pop("variable", PREFIX + name.removeprefix("--").replace("-", "_").upper())
    dest = {"--try": "tried", "--from": "calm"}.get(name, name[2:].replace("-", "_"))
    names = [one for one in (name, more.pop("short", None), dest) if one is not None]
    return kind(names, help=what, envvar=variable, **more)


class _Repeated(Option):
    """Its variable holds words as in a shell; those of the command line come behind them."""

    def value_from_envvar(self, ctx: click.Context) -> list[str] | None:
        try:
            return shlex.split(self.resolve_envvar_value(ctx) or "") or None
        except ValueError:
            raise InputError(f"{self.envvar}: a quotation mark is not closed") from None

    def consume_value(self, ctx: click.Context, opts: Any) -> tuple[Any, ParameterSource]:
        value, source = super().consume_value(ctx, opts)
        if source is ParameterSource.COMMANDLINE:
            value = [*(self.value_from_envvar(ctx) or ()), *value]
        return value, source


def argument(name: str, what: str, metavar: str, **more: Any) -> Argument:
    """A word that stands for itself."""
    return Argument(
        [name], help=what, metavar=metavar, **({"shell_complete": complete.files} | more)
    )


def is_switch(param: click.Parameter) -> bool:
    return isinstance(param, Option) and param.is_flag
