"""One entry point for people and CI: sets up .venv once, then runs what is asked.

usage: python3 dev.py VERB

    demo              a realistic scenario is judged, then a broken design convicted
    test fast         what a change of the protocol or of a judge breaks first: units,
                      clauses, golden files, all shipped scenarios once, but for what
                      is marked slow
    test [ARGS]       the whole suite; ARGS are stages (fast, units, house, laws, scenarios,
                      commands, spark) or pytest's own, with paths relative to the project
    test bench        the benches, which print ratios and assert no timing
    test nightly      100,000 damaged inputs, and the laws on many more examples
    fuzz [ARGS]       damaged inputs for every command: --inputs N, --seed S, --only FORMAT
    mutate [ARGS]     small faults in the protocol's source, and which the search finds:
                      --area A, --cpu SECONDS, --seeds N, --sample N, --out DIR, --list
    search [ARGS]     after how many drawn worlds, or how much CPU time of a hunt, shipped
                      mutants and recorded findings show: --only NAME, --seeds N,
                      --hunts N, --cpu SECONDS, --jobs N
    study [ARGS]      real databases recorded and judged, into reports/databases:
                      --script NAME runs a script of plain SQL alone
    check             the formatter, the linter, the types and the floors
    docs              the documentation site, from docs/ into build/docs
    lock [--upgrade]  pyproject.toml -> requirements.txt, every file by its hash
    setup             only the set-up

It needs Python 3.11 to 3.14 and nothing else: uv, which installs the rest, is taken from
PATH or by pip from the lock.  A stamp in .venv makes every later call immediate.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON, STAMP = BIN / "python", VENV / "ready"
LOCK, PROJECT = ROOT / "requirements.txt", ROOT / "pyproject.toml"
NEWEST = (3, 14)
"""The newest Python that the packages of the lock are all built for."""
LINKS = {"ddlsim": "sim", "sim/analysis": "../analysis", "sim/_scenarios": "../scenarios"}

DEMO = ("run realistic --expect", "run negative/no_completeness_wait --expect")
COMMANDS = [f"tests/unit/{room}" for room in ("analysis", "cli", "execute", "mutation")]
"""Units that start processes, or do much: too slow for the stage that is run after each change."""
UNITS = sorted(f"tests/unit/{path.name}" for path in (ROOT / "tests" / "unit").glob("[a-z]*"))
UNITS = [unit for unit in UNITS if unit not in COMMANDS]
STAGES = {
    "house": ["tests/house"],
    "fast": [*UNITS, "tests/clauses", "tests/golden", "tests/scenarios/test_shipped_list.py"],
    "units": UNITS,
    "laws": ["tests/property"],
    "scenarios": ["tests/scenarios", "tests/determinism", "tests/ledger"],
    "commands": [*COMMANDS, "tests/fuzz"],
    "spark": ["tests/spark"],
    "bench": ["tests/bench"],
}
VERBS = {"demo", "test", "fuzz", "mutate", "search", "study", "check", "docs", "lock", "setup"}
NIGHTLY = ("--inputs", "100000")
ONE_PROCESS = {"-n0", "-s", "--pdb", "--trace", "--collect-only", "--co"}
NOT_PASSED_ON = {"PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
"""Without bytecode each of the hundreds of processes that the tests start would compile anew."""
LAWS = ("tests/property", "--hypothesis-profile", "nightly")
LINT = "from importlinter.cli import lint_imports_command as lint; lint()"
CHECKS = {
    "format": ["-m", "ruff", "format", "--check", "."],
    "lint": ["-m", "ruff", "check", "."],
    "types": ["-m", "mypy", "--sqlite-cache"],
    "floors": ["-c", LINT, "--no-logo"],
}


def stop(why: str) -> NoReturn:
    """End with one line on stderr and the exit code of bad input."""
    print(f"dev.py: {why}", file=sys.stderr)
    sys.exit(2)


if sys.version_info < (3, 11):  # noqa: UP036 - an older Python must be told so, not crash
    found = ".".join(str(part) for part in sys.version_info[:2])
    stop(f"Python {found} is too old; run it with 3.11 or later, say: python3.11 dev.py demo")


def failure(*command: str, **environment: str) -> str:
    """Run a step of the set-up: the end of its output if it fails, else nothing."""
    env = {**os.environ, **environment}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()[-15:]
    return "\n".join(lines or ["no output"]) if done.returncode else ""


def quietly(*command: str) -> None:
    """Run a step of the set-up; only its failure is worth reading."""
    if failed := failure(*command):
        print(failed, file=sys.stderr)
        stop(f"set-up failed at: {' '.join(command)}{too_new(sys.version_info[:2])}")


def too_new(found: tuple[int, int]) -> str:
    """What to do where the set-up fails with a Python newer than `NEWEST`; else nothing."""
    newest = "{}.{}".format(*NEWEST)
    what = f"some packages are not built for Python {found[0]}.{found[1]} yet"
    return (
        f"\n{what}; run it with {newest}, say: python{newest} dev.py demo" if found > NEWEST else ""
    )


def link(root: Path = ROOT) -> None:
    """Make the links of the one package where an archive, or a git without links, has none."""
    for name, target in LINKS.items():
        place = root / name
        if place.is_dir():
            continue
        try:
            place.unlink(missing_ok=True)  # git writes a link's target into a file instead
            place.symlink_to(target, target_is_directory=True)
        except OSError as error:
            why = error.strerror or type(error).__name__
            stop(f"cannot make the link {name} -> {target} ({why}); allow links, or copy {target}")


def pinned(name: str, lock: str) -> str:
    """The entry of one package in the lock, with its hashes; KeyError if there is none."""
    found = re.search(rf"^{re.escape(name)}==[^\n]*(\n +--hash[^\n]*)*", lock, re.MULTILINE)
    if not found:
        raise KeyError(name)
    return found[0].removesuffix(" \\") + "\n"


def pip(*what: str) -> list[str]:
    """The call of pip that installs something into .venv."""
    return [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", *what]


def fetch_uv() -> str:
    """Install by pip the uv of the lock, and return its path; nothing if pip fails."""
    with tempfile.TemporaryDirectory() as tmp:
        entry = Path(tmp, "uv.txt")
        entry.write_text(pinned("uv", LOCK.read_text("utf-8")), "utf-8")
        return "" if failure(*pip("--require-hashes", "-r", str(entry))) else str(BIN / "uv")


def install(*what: str) -> None:
    """Install into .venv by uv, in a third of pip's time; by pip where uv cannot.

    pip has settings, such as its index, that uv does not read.
    """
    uv = shutil.which("uv") or fetch_uv()
    command = [uv, "pip", "install", "--python", str(PYTHON), *what]
    if not uv or failure(*command, UV_SYSTEM_CERTS="true"):
        quietly(*pip("--use-pep517", *what))


def set_up() -> None:
    """Make .venv agree with the lock and the project; a half-finished one is made anew."""
    link()
    here = f"{sys.version_info[:2]} {ROOT}"
    inputs = hashlib.sha256(LOCK.read_bytes() + PROJECT.read_bytes()).hexdigest()
    stamp = STAMP.read_text("utf-8").splitlines() if STAMP.exists() and PYTHON.exists() else []
    if stamp == [here, inputs]:
        return
    uv = shutil.which("uv")
    if not uv and not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        stop("this Python has no venv and pip; install them (Debian: python3-venv) or uv")
    print("setting up .venv (once) ...", file=sys.stderr, flush=True)
    STAMP.unlink(missing_ok=True)
    base = getattr(sys, "_base_executable", sys.executable)  # not the .venv about to be removed
    if stamp[:1] != [here]:
        shutil.rmtree(VENV, ignore_errors=True)
        make = [uv, "venv", "--seed", "--python", base] if uv else [base, "-m", "venv"]
        quietly(*make, str(VENV))
    install("--require-hashes", "-r", str(LOCK))
    install("--no-deps", "--no-build-isolation", "-e", str(ROOT))
    STAMP.write_text(f"{here}\n{inputs}\n", "utf-8")


def run(*command: str) -> int:
    """Run a program of the environment in the project's folder."""
    env = {k: v for k, v in os.environ.items() if k not in NOT_PASSED_ON}
    env["PATH"] = os.pathsep.join([str(BIN), env.get("PATH", os.defpath)])
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def demo() -> int:
    """Show each command, then run it; all of them, even if one disappoints."""
    results = []
    for words in DEMO:
        print(f"\n$ ddlsim {words}", flush=True)
        results.append(run(str(BIN / "ddlsim"), *words.split()))
    return max(results, key=abs)


def test(args: list[str]) -> int:
    """Run pytest on everything, or on the stages and arguments given."""
    if args == ["nightly"]:
        return max(fuzz(list(NIGHTLY)), run(str(PYTHON), "-m", "pytest", "-q", *LAWS))
    folders = [f for a in args for f in STAGES.get(a, []) if (ROOT / f).exists()]
    if not folders and any(a in STAGES for a in args):
        stop(f"no tests yet in {', '.join(args)}")
    more = [a for a in args if a not in STAGES]
    if "bench" in args:
        more += ["-s"]  # shows the figures, one process after the other
    elif all(a.startswith("-") for a in more) and ONE_PROCESS.isdisjoint(more):
        # One more worker than cores: part of what tests of processes and of Spark take is waiting;
        # two more cost a third of the time where cores share a small cache.
        workers = str((os.cpu_count() or 1) + 1)
        more += ["-n", workers, "--dist", "loadfile", "--no-loadscope-reorder"]
    marked = ["-m", "not slow"] if "fast" in args else []
    return run(str(PYTHON), "-m", "pytest", "-q", *marked, *folders, *more)


def fuzz(args: list[str]) -> int:
    """Give damaged files of every format to the commands that read them."""
    return run(str(PYTHON), "-m", "tests.fuzz", *args)


def mutate(args: list[str]) -> int:
    """Try mutants of the protocol under the search alone."""
    return run(str(PYTHON), "-m", "ddlsim.mutation", *args)


def search(args: list[str]) -> int:
    """Look for shipped mutants and recorded findings in drawn worlds."""
    return run(str(PYTHON), "-m", "ddlsim.search", *args)


def study(args: list[str]) -> int:
    """Record real databases and write the study of them."""
    return run(str(PYTHON), "-m", "ddlsim.analysis.databases", *args)


def check() -> int:
    """Run every check, so that one visit shows all there is to mend."""
    results = []
    for name, words in CHECKS.items():
        print(f"--- {name}", flush=True)
        results.append(run(str(PYTHON), *words))
    return max(results, key=abs)


def docs() -> int:
    """Build the site; a page that cannot be understood, or a dead link, fails it."""
    return run(str(PYTHON), "-m", "sphinx", "-q", "-W", "--keep-going", "docs", "build/docs")


def lock(args: list[str]) -> None:
    """Pin every dependency by hash, for all platforms, without any address."""
    what = ["pyproject.toml", "--all-extras", "--universal", "--generate-hashes", "--no-header"]
    with tempfile.TemporaryDirectory() as tmp:
        uv = shutil.which("uv")
        if not uv:
            quietly(sys.executable, "-m", "venv", tmp)
            uv = os.path.join(tmp, BIN.name, "uv")
            quietly(os.path.join(tmp, BIN.name, "python"), "-m", "pip", "install", "uv")
        quietly(uv, "pip", "compile", "--quiet", *what, *args, "--output-file", LOCK.name)


def main(argv: list[str]) -> int:
    """Run one verb; anything else is answered with the usage."""
    verb, args = (argv[0], argv[1:]) if argv else ("", [])
    if verb not in VERBS:
        asked = verb in {"-h", "--help", "help"}
        print((__doc__ or "").rstrip(), file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    if verb == "lock":
        lock(args)
        return 0
    with_args = {"test": test, "fuzz": fuzz, "mutate": mutate, "search": search, "study": study}
    if args and verb not in with_args:
        stop(f"{verb} takes no arguments")
    set_up()
    if verb in with_args:
        return with_args[verb](args)
    plain = {"demo": demo, "check": check, "docs": docs}
    return plain[verb]() if verb in plain else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
