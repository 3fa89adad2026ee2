"""Spark sessions: without log output, quick to start, with the package sent to workers.

Settings were measured on two cores with PySpark 4.3: no UI, few shuffle partitions, no adaptive
plans (our tables are small), Unix sockets between the JVM and Python, and `local[N,4]` instead of
`local[N]`, so that a lost Python worker costs one task and not the whole job.
"""

import atexit
import importlib
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Any, Final

import ddlsim
import ddlsim.analysis
from ddlsim.analysis.spark import java
from ddlsim.execute.workers import kernel_sees_to_it
from ddlsim.problems import BadInputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS: Final = 4
"""The number of attempts of a task on this machine; clusters keep their own setting."""
LOG: Final = """\
rootLogger.level = off
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = off
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
"""
"""Errors are raised as exceptions; Spark's log would break the progress bar."""
SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
}
_LOCAL: Final = re.compile(r"local(?:\[(\*|\d+)\])?")


class BadMasterError(BadInputError):
    """A master that is invalid or cannot be reached; the message ends in a remedy."""


def is_local(master: str) -> bool:
    """Whether the workers are on this machine."""
    return master.startswith("local")


@contextmanager
def session(
    master: str, *, name: str = "ddlsim", settings: dict[str, str] | None = None
) -> Iterator["SparkSession"]:
    """A session for a `with` block; raises `NoJavaError` or `BadMasterError`."""
    with _interrupts_unlogged():
        spark = begin(master, name=name, settings=settings)
        try:
            try:
                yield spark
            finally:
                end(spark)  # which fails where the same signal has ended the JVM
        except Exception as error:
            asked = _interrupt_behind(error)
            if asked is None:
                raise
            raise asked from None


@contextmanager
def _interrupts_unlogged() -> Iterator[None]:
    """Keep tracebacks from stderr: py4j logs the interrupt that it raises, with Python's root
    logger, which is given a handler for stderr then if it has none.
    """
    root, unheard = logging.getLogger(), logging.NullHandler()
    root.addHandler(unheard)
    try:
        yield
    finally:
        root.removeHandler(unheard)


def begin(
    master: str, *, name: str = "ddlsim", settings: dict[str, str] | None = None
) -> "SparkSession":
    """Start a session, which the caller ends."""
    if not re.match(r"local(\[[\d*, ]+\])?$|local-cluster\[|spark://|yarn$|k8s://", master):
        raise BadMasterError(
            f"--master {master}: expected none, local[*], spark://HOST:PORT, yarn or k8s://…"
        )
    chosen = java.find()
    os.environ["JAVA_HOME"] = chosen.home
    _environment(master)
    from pyspark.sql import SparkSession

    number, log = tempfile.mkstemp(prefix="ddlsim-log4j2-", suffix=".properties")
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(LOG)
    wanted = {**SETTINGS, **(settings or {})}
    options = f"-Dlog4j2.configurationFile=file:{log}"
    java_options = "spark.driver.extraJavaOptions"
    wanted[java_options] = f"{options} {wanted.get(java_options, '')}".strip()
    builder = SparkSession.builder.master(_with_attempts(master)).appName(name)
    for key, value in wanted.items():
        builder = builder.config(key, value)
    try:
        with _ending_with_us():
            spark = builder.getOrCreate()
    except Exception as error:
        what = str(error).strip().partition("\n")[0][:300]
        raise BadMasterError(f"--master {master}: no Spark session: {what}") from None
    finally:
        os.unlink(log)
    spark.sparkContext.setLogLevel("OFF")
    _cancel_first(spark)
    if not is_local(master):
        spark.sparkContext.addPyFile(str(package()))
    return spark


@contextmanager
def _ending_with_us() -> Iterator[None]:
    """Have the JVM that PySpark starts end with this process, from its first moment on. By itself
    it ends with its stdin, but only once it is up, seconds later."""
    gateway: Any = importlib.import_module("pyspark.java_gateway")

    def begun(command: list[str], **options: Any) -> Any:
        before = options.get("preexec_fn")

        def first() -> None:
            kernel_sees_to_it(signal.SIGTERM)  # on which a JVM clears up
            if before is not None:
                before()

        return Popen(command, **{**options, "preexec_fn": first})

    gateway.Popen = begun
    try:
        yield
    finally:
        gateway.Popen = Popen


def _interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """The interrupt in the context of an error that Spark's clean-up raised; None without one."""
    behind = error.__context__
    while behind is not None and not isinstance(behind, KeyboardInterrupt):
        behind = behind.__context__
    return behind


def _cancel_first(spark: Any) -> None:
    """Cancel Spark's jobs on signals that end the command, as PySpark does for SIGINT.

    There is nothing to cancel once the session or its JVM has ended: the signal is as without it.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        handler = None if number is None else signal.getsignal(number)
        if number is None or not callable(handler) or not _in_main_thread():
            continue

        def cancelling(got: int, frame: Any, of: Callable[[int, Any], Any] = handler) -> None:
            with suppress(Exception):
                spark.sparkContext.cancelAllJobs()
            of(got, frame)

        signal.signal(number, cancelling)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def end(spark: Any) -> None:
    """End a session."""
    spark.stop()


def _with_attempts(master: str) -> str:
    match = _LOCAL.fullmatch(master)
    return f"local[{match.group(1) or 1},{ATTEMPTS}]" if match else master


def _environment(master: str) -> None:
    """Set the environment of the JVM and of Python's workers."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        root = str(Path(ddlsim.__file__).parent.parent)
        known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if root not in known:
            os.environ["PYTHONPATH"] = os.pathsep.join([root, *filter(None, known)])


def package(folder: str | Path | None = None) -> Path:
    """Write the program as one zip file, for `--py-files`; return its path.

    Its bytes depend on the source alone. Without `folder` it is in a temporary folder, which is
    removed when this process ends.
    """
    if folder is None:
        folder = tempfile.mkdtemp(prefix="ddlsim-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    files: dict[str, Path] = {}
    for module in (ddlsim, ddlsim.analysis):  # the second lies in the first, or a link to it does
        root = Path(str(module.__file__)).resolve().parent
        inside = Path(*module.__name__.split("."))
        files |= {(inside / file.relative_to(root)).as_posix(): file for file in root.rglob("*.py")}
    target = Path(folder, "ddlsim.zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), file.read_bytes())
    return target
