"""Commands in processes forked from a server that has imported the program.

To import the program takes longer than most commands. The server, one for each process of tests,
does it once; each command is a fork of it with its own state, streams, folder, environment and
limits, and ends as an interpreter does. What is about the start of one (its flags, the seed of
hashes, what is imported) needs `tests.support.command.process`.
"""

import atexit
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit
from typing import Any, Final

from tests.support.command import ROOT, Done, variables_of

IMPORTED: Final = (
    *("ddlsim.__main__", "ddlsim.api", "ddlsim.cli.verbs.run"),
    *("ddlsim.cli.verbs.sweep", "ddlsim.cli.verbs.tune"),
)
DRAWING: Final = ("ddlsim.analysis.figures.report",)
"""What the server imports before its first command, and before the first one that draws."""
CORE: Final = ("ddlsim.__main__", "ddlsim.cli.verbs.run")
"""What a server imports that some libraries are hidden from."""
MOST: Final = 1 << 20
"""The largest request in bytes."""


def forked(
    *words: str,
    cwd: Path = ROOT,
    stdout: int | None = None,
    stderr: int | None = None,
    room: int | None = None,
    hiding: Path | None = None,
    **variables: str,
) -> Done:
    """How a command ends, with these variables of ours and no others, and what it wrote.

    `stdout` and `stderr` are file descriptors for it to write to, instead of what is returned;
    `room` is the size in bytes that its files may have; `hiding` is a folder for PYTHONPATH whose
    `sitecustomize.py` hides libraries.
    """
    if hiding is not None:
        variables["PYTHONPATH"] = str(hiding)
    with (
        variables_of(variables),
        open(os.devnull, "rb") as nothing,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        request = {"words": words, "cwd": str(cwd), "env": dict(os.environ), "room": room}
        request["draws"] = hiding is None and words[:1] in {("plot",), ("report",)}
        streams = [
            nothing.fileno(),
            out.fileno() if stdout is None else stdout,
            err.fileno() if stderr is None else stderr,
        ]
        server = _server(hiding)
        socket.send_fds(server, [json.dumps(request).encode()], streams)
        code = int(server.recv(MOST))
        written = []
        for file in (out, err):
            file.seek(0)
            written.append(file.read().decode())
        return Done(code, *written)


@cache
def _server(hiding: Path | None) -> socket.socket:
    """The connection to the server, which ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    modules = IMPORTED if hiding is None else CORE
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forked", str(theirs.fileno()), *modules],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# --- in the server -------------------------------------------------------------------------------


def _next(requests: socket.socket) -> tuple[Mapping[str, Any], list[int]] | None:
    """In a forked process its request and streams; in the server None, after the last request."""
    _import(sys.argv[2:])
    while True:
        data, streams, *_ = socket.recv_fds(requests, MOST, 3)
        if not data:
            return None
        request = json.loads(data)
        if request["draws"]:
            _import(DRAWING)
        child = os.fork()
        if not child:
            requests.close()
            return request, streams
        for stream in streams:
            os.close(stream)
        requests.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _import(modules: Sequence[str]) -> None:
    if not all(module in sys.modules for module in modules):
        for module in modules:
            importlib.import_module(module)
        gc.collect()
        gc.freeze()


def _take_over(request: Mapping[str, Any], streams: list[int]) -> None:
    """Make this process what the request says, as if it had been begun so."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    program = sys.modules["ddlsim.__main__"]
    sys.modules["__main__"] = program  # a worker process imports it as its own
    sys.argv = [str(program.__file__), *request["words"]]
    sys.path[0] = request["cwd"]
    if request["room"] is not None:
        sys.dont_write_bytecode = True  # bytecode that is cut off would be read by later processes
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # nor do processes that it starts
        setrlimit(RLIMIT_FSIZE, (request["room"], request["room"]))


def _main() -> int:
    taken = _next(socket.socket(fileno=int(sys.argv[1])))
    if taken is None:
        return 0
    _take_over(*taken)
    from ddlsim.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(_main())
