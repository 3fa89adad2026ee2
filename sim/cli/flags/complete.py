"""What a shell offers for a word: files, and the names that `ddlsim list` knows."""

from collections.abc import Callable

from click import Context, Parameter
from click.shell_completion import CompletionItem

Completer = Callable[[Context, Parameter, str], list[CompletionItem]]


def files(_context: Context, _param: Parameter, begun: str) -> list[CompletionItem]:
    """Leave it to the shell, which completes the name of a file."""
    return [CompletionItem(begun, type="file")]


def folders(_context: Context, _param: Parameter, begun: str) -> list[CompletionItem]:
    """Leave it to the shell, which completes the name of a directory."""
    return [CompletionItem(begun, type="dir")]


def names(kind: str, *, or_files: bool = False) -> Completer:
    """The names of a list, and files where they may stand as well.

    Files come first: bash forgets what it was offered before them.
    """

    def complete(context: Context, param: Parameter, begun: str) -> list[CompletionItem]:
        from ddlsim.cli.verbs.list import LISTS

        known = [entry["name"] for entry in LISTS[kind]()]
        found = files(context, param, begun) if or_files else []
        return found + [CompletionItem(name) for name in known if name.startswith(begun)]

    return complete


scenarios = names("scenarios", or_files=True)
scopes = names("scopes")


def worlds(context: Context, param: Parameter, begun: str) -> list[CompletionItem]:
    """Files, scenarios and scopes."""
    return scenarios(context, param, begun) + scopes(context, param, begun)


strategies = names("strategies")
mutants = names("mutants")
figures = names("figures")
