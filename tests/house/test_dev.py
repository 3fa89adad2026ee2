"""`dev.py` answers nonsense in words, and its stages leave no test out."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dev
from tests.house.tree import ROOT, plant


def call(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "dev.py"), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def unstaged(root: Path) -> list[str]:
    """Files and folders of tests that no stage runs."""
    folders = {path.relative_to(root).parts[:3] for path in root.glob("tests/*/**/test_*.py")}
    staged = {Path(name).parts for names in dev.STAGES.values() for name in names}
    return sorted("/".join(at[1:]) for at in folders if not {at, at[:2]} & staged)


def test_every_folder_of_tests_belongs_to_a_stage() -> None:
    assert unstaged(ROOT) == []


def test_a_folder_without_a_stage_is_named(tmp_path: Path) -> None:
    names = ("odd/deep/test_a.py", "unit/new/test_b.py", "unit/cli/test_c.py", "clauses/test_d.py")
    plant(tmp_path, {f"tests/{name}": "" for name in (*names, "e.py")})
    assert unstaged(tmp_path) == ["odd/deep", "unit/new"]


@pytest.mark.parametrize("words", [(), ("tests",), ("-x",)])
def test_an_unknown_verb_is_answered_with_the_usage(words: tuple[str], tmp_path: Path) -> None:
    done = call(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: python3 dev.py VERB" in done.stderr


def test_the_usage_names_every_verb(tmp_path: Path) -> None:
    done = call("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert all(f"\n    {verb} " in done.stdout for verb in dev.VERBS)


def test_a_needless_argument_is_refused_in_one_line(tmp_path: Path) -> None:
    done = call("demo", "twice", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "dev.py: demo takes no arguments\n")


def test_the_entry_of_uv_in_the_lock_is_what_pip_needs() -> None:
    first, *hashes = dev.pinned("uv", dev.LOCK.read_text("utf-8")).splitlines()
    assert first.startswith("uv==")
    assert len(hashes) > 10
    assert all(line.startswith("    --hash=sha256:") for line in hashes)


def test_an_entry_ends_where_the_next_begins() -> None:
    lock = "uv-tool==2 \\\n    --hash=sha256:1\nuv==1 \\\n    --hash=sha256:2\n    # via x\nz==3\n"
    assert dev.pinned("uv", lock) == "uv==1 \\\n    --hash=sha256:2\n"
    assert dev.pinned("z", lock) == "z==3\n"
    with pytest.raises(KeyError):
        dev.pinned("v", lock)


def test_a_set_up_that_fails_with_a_newer_python_names_one_that_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "failure", lambda *_: "no wheel")
    monkeypatch.setattr("sys.version_info", (3, 15, 0))
    with pytest.raises(SystemExit):
        dev.quietly("make", "it")
    assert capsys.readouterr().err.splitlines() == [
        "no wheel",
        "dev.py: set-up failed at: make it",
        (
            "some packages are not built for Python 3.15 yet; run it with 3.14, "
            "say: python3.14 dev.py demo"
        ),
    ]


def test_no_other_python_is_named_where_this_one_may_do() -> None:
    assert dev.too_new(dev.NEWEST) == dev.too_new((3, 11)) == ""


def test_each_python_from_the_oldest_to_the_newest_is_classified() -> None:
    given = (ROOT / "pyproject.toml").read_text("utf-8")
    minors = re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', given)
    assert [int(minor) for minor in minors] == list(range(11, dev.NEWEST[1] + 1))
    assert "Python 3.11 to {}.{} and".format(*dev.NEWEST) in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("on_path", "fails", "installers"),
    [
        ("/bin/uv", (), ["/bin/uv"]),
        (None, (), ["pip for uv", "uv"]),
        (None, ("pip for uv",), ["pip for uv", "pip"]),
        (None, ("uv",), ["pip for uv", "uv", "pip"]),
        ("/bin/uv", ("/bin/uv",), ["/bin/uv", "pip"]),
    ],
)
def test_pip_installs_where_uv_cannot(
    on_path: str | None,
    fails: tuple[str, ...],
    installers: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[str] = []

    def failure(*command: str, **_: str) -> str:
        name = "pip for uv" if command[-1].endswith("uv.txt") else command[0]
        ran.append({str(dev.PYTHON): "pip", str(dev.BIN / "uv"): "uv"}.get(name, name))
        return "an error" if ran[-1] in fails else ""

    monkeypatch.setattr(dev, "failure", failure)
    monkeypatch.setattr(shutil, "which", lambda _: on_path)
    dev.install("-r", "requirements.txt")
    assert ran == installers


@pytest.mark.skipif(os.name == "nt", reason="CI's script is for a POSIX shell")
def test_ci_runs_the_same_suite() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert 'exec python3 dev.py test "$@"' in script.read_text("utf-8")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command that `dev.test` runs."""
    words: list[str] = []

    def run(*command: str) -> int:
        words.extend(command)
        return 0

    monkeypatch.setattr(dev, "run", run)
    return words


@pytest.mark.parametrize(
    ("words", "parallel"),
    [
        ((), True),
        (("fast",), True),
        (("-x", "--durations=20"), True),
        (("--pdb",), False),
        (("bench",), False),
        (("tests/unit/test_units.py",), False),
    ],
)
def test_options_alone_leave_the_suite_on_all_cores(
    words: tuple[str, ...], parallel: bool, ran: list[str]
) -> None:
    dev.test(list(words))
    assert ("-n" in ran) == parallel


@pytest.mark.parametrize(
    ("words", "all_of_it"), [((), True), (("units",), True), (("fast",), False)]
)
def test_only_the_fast_stage_leaves_slow_tests_out(
    words: tuple[str, ...], all_of_it: bool, ran: list[str]
) -> None:
    dev.test(list(words))
    assert ("not slow" in ran) != all_of_it


def linked(root: Path) -> dict[str, str]:
    return {name: os.readlink(root / name) for name in dev.LINKS}


def test_run_passes_on_no_variable_that_changes_what_is_imported_or_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {"PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    for name in names:
        monkeypatch.setenv(name, "1")
    shown = f"import os, sys; sys.exit(len({names} & {{*os.environ}}))"
    assert dev.run(sys.executable, "-c", shown) == 0


def test_links_are_made_where_an_archive_or_git_has_none(tmp_path: Path) -> None:
    plant(tmp_path, {"sim/a.py": "", "analysis/b.py": "", "scenarios/c.toml": "", "ddlsim": "sim"})
    dev.link(tmp_path)
    assert linked(tmp_path) == dev.LINKS == linked(ROOT)
    assert (tmp_path / "ddlsim" / "analysis" / "b.py").is_file()
    assert (tmp_path / "ddlsim" / "_scenarios" / "c.toml").is_file()


def test_a_system_without_links_gets_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    with pytest.raises(SystemExit) as ended:
        dev.link(tmp_path)
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "dev.py: cannot make the link ddlsim -> sim (Operation not permitted); "
        "allow links, or copy sim\n"
    )
