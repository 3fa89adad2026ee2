"""`dev.py` answers nonsense in words, and its stages leave no test out."""

import os
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


@pytest.mark.skipif(os.name == "nt", reason="CI's script is for a POSIX shell")
def test_ci_runs_the_same_suite() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert 'exec python3 dev.py test "$@"' in script.read_text("utf-8")


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
    words: tuple[str, ...], parallel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(*command: str) -> int:
        ran.extend(command)
        return 0

    monkeypatch.setattr(dev, "run", run)
    dev.test(list(words))
    assert ("-n" in ran) == parallel


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
