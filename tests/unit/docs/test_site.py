"""The documentation site is built without a warning, and its picture is what the program draws."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT, ddlsim

pytestmark = pytest.mark.slow


def test_the_picture_of_the_readme_is_what_explain_draws(tmp_path: Path) -> None:
    assert ddlsim("run", "strategies/B3-T1", "--out", f"{tmp_path}/bad").code == 1
    drawn = tmp_path / "cycle.svg"
    assert ddlsim("explain", f"{tmp_path}/bad/seed-0.jsonl", "--svg", str(drawn)).code == 0
    assert drawn.read_text("utf-8") == (ROOT / "docs/cycle.svg").read_text("utf-8")


def test_the_readme_has_200_lines_at_most() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 200


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `dev.py docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_every_link_within_the_site_leads_to_a_file(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text("utf-8")
        for goal in re.findall(r'(?:href|src)="([^"#?]+)', text):
            if "://" not in goal and not goal.startswith(("data:", "mailto:")):
                assert (page.parent / goal).exists(), f"{page.name}: {goal}"
        assert "<!-- generated" not in text


def test_the_site_offers_each_schema(site: Path) -> None:
    names = {path.name for path in (ROOT / "sim/schemas").iterdir()}
    published = {path.name: path for path in (site / "_downloads").rglob("*.json")}
    assert set(published) == names
    for name, path in published.items():
        assert json.loads(path.read_text("utf-8"))["title"] == f"ddlsim {name.split('.')[0]}"


def test_the_site_shows_the_help_of_a_verb_as_the_command_does(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text("utf-8")
    assert "-h, --help" in ddlsim("run", "--help").out
    assert page.count("-h, --help") == page.count("Show this message and exit.") > 15
