"""Takes the verb, runs it, and turns whatever goes wrong into one line and an exit code."""

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click
from click.shell_completion import shell_complete

from ddlsim.cli import arguments, signals, streams
from ddlsim.cli.problems import (
    BAD_INPUT,
    CRASHED,
    INTERRUPTED,
    PIPE_CLOSED,
    InputError,
    note,
    unusable,
)
from ddlsim.extras import needed_by
from ddlsim.files import FREE, is_full
from ddlsim.garbage import collect_seldom
from ddlsim.problems import BadInputError

THREADS: Final = "OPENBLAS_NUM_THREADS"
"""How many threads numpy begins as it is imported, else one for each core: each spins for a while,
and no array here is large enough for them."""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of one command; without `argv` of the one that this process is for."""
    if argv is None:
        collect_seldom()
        os.environ.setdefault(THREADS, "1")
    words = list(sys.argv[1:] if argv is None else argv)
    streams.opened()
    try:
        with signals.as_interrupts():
            return _flushed(words)
    except signals.EndedError as ended:
        note(str(ended))
        return ended.code
    except KeyboardInterrupt:
        note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        streams.silence(sys.stdout)
        return PIPE_CLOSED
    except (Exception, SystemExit) as error:
        return _failed(error)


def _flushed(words: list[str]) -> int:
    """Run a command and flush stdout; raises BrokenPipeError where its reader went away."""
    code = _run(words)
    sys.stdout.flush()  # at the interpreter's exit it would be too late
    return code


def _run(words: list[str]) -> int:
    """Import the verb and run it."""
    if not __debug__:
        raise InputError("python -O removes the simulator's assertions; run it without -O")
    if instruction := os.environ.get(arguments.COMPLETE):
        return shell_complete(arguments.COMMAND, {}, "ddlsim", arguments.COMPLETE, instruction)
    try:
        verb, options = arguments.parse(words or ["--help"])
    except click.exceptions.Exit as done:
        return done.exit_code
    arguments.note_unused_variables()
    with needed_by(verb), streams.apart():
        code: int = import_module(f"ddlsim.cli.verbs.{verb}").execute(options)
    return code


def _failed(error: BaseException) -> int:
    """One line about what is wrong; the traceback only on demand."""
    if arguments.debugging():
        traceback.print_exc()
    if isinstance(error, BadInputError):
        note(str(error))
        return BAD_INPUT
    if isinstance(error, OSError) and is_full(error):
        # Python would complain of what is left in its buffer once more at exit.
        streams.silence(sys.stdout)
        note(f"the output cannot be written ({error.strerror}); {FREE}")
        return BAD_INPUT
    if isinstance(error, OSError) and error.filename is not None:
        note(unusable(error))
        return BAD_INPUT
    from ddlsim.registry import place_in_plugins  # most commands need no registry

    place = place_in_plugins(error)
    whose = "error of a plug-in" if place else "internal error"
    note(f"{whose}: {type(error).__name__}: {error}{place}; {arguments.DEBUG}=1 shows where")
    return CRASHED
