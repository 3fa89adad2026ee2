"""The page of `explain --html` in a real browser, where there is one: it loads, and keys step."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from ddlsim.cluster.run import run
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from tests.support.drawn_pictures import write_picture
from tests.support.waiting import PATIENCE_S

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--virtual-time-budget=3000", "--dump-dom"),
)
CATCH = """<script>
window.errors = [];
addEventListener("error", (event) => errors.push(event.message));
console.error = console.warn = (...words) => errors.push(words.join(" "));
</script>"""
"""Ahead of everything else on the page."""
DRIVE = """<script>
const look = () => ({
  words: document.getElementById("words").textContent,
  cells: [...document.querySelectorAll("#state td")].map((one) => one.textContent),
  chosen: [...document.querySelectorAll("[aria-current]")].map((one) => one.id),
  row: document.getElementById("here").getAttribute("y"),
  top: (document.querySelector("[aria-current]") || { dataset: {} }).dataset.top,
  hidden: document.getElementById("around").hidden,
  open: [...document.querySelectorAll("details")].map((one) => one.open),
  hash: location.hash,
});
const press = (key) => dispatchEvent(
  Object.assign(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })));
const seen = { start: look(), wide: document.querySelector(".lanes").clientWidth };
for (const key of ["ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"]) press(key);
seen.fourth = look();
press("ArrowLeft");
seen.third = look();
press("ArrowUp"); press("ArrowUp"); press("ArrowUp"); press("ArrowUp");
seen.first = look();
document.getElementById("next").click();
seen.button = look();
document.getElementById("step-8").click();
seen.click = look();
press("Escape");
seen.ended = look();
document.getElementById("closer").click();
seen.wider = document.querySelector(".lanes").clientWidth;
dispatchEvent(new Event("beforeprint"));
seen.printed = look().open;
seen.errors = errors;
seen.loaded = performance.getEntriesByType("resource").map((one) => one.name);
const out = document.createElement("pre");
out.id = "seen";
out.textContent = JSON.stringify(seen);
document.body.append(out);
</script>"""
"""Behind everything else: presses keys and buttons, and writes down what the page then shows."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the page of F-1 shows while keys are pressed."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed")
    folder = tmp_path_factory.mktemp("page")
    file = folder / "page.html"
    write_picture(run(plan(load("findings/F-1"), 0)), file)
    return driven(file, folder)


def driven(file: Path, folder: Path) -> Any:
    """Load a page in the browser, drive it, and return what was seen."""
    assert BROWSER is not None
    text = file.read_text("utf-8").replace("<head>", f"<head>{CATCH}", 1)
    file.write_text(text.replace("</body>", f"{DRIVE}</body>"), "utf-8")
    words = (BROWSER, *FLAGS, f"--user-data-dir={folder / 'user'}", file.as_uri())
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    [found] = re.findall(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    return json.loads(unescape(found))


def test_the_page_loads_without_an_error_and_fetches_nothing(seen: Any) -> None:
    assert seen["errors"] == []
    assert seen["loaded"] == []
    assert seen["start"]["hidden"]
    assert not any(seen["start"]["open"])


def test_keys_step_and_show_the_state_before_and_after(seen: Any) -> None:
    """The fourth step is the read of T1 on n2, which takes a lock there."""
    fourth, third = seen["fourth"], seen["third"]
    assert fourth["words"].startswith("Step 4 of 29, 100.000 ms: ! n2 T1 scans a at op_ts = 100+6")
    assert fourth["chosen"] == ["step-4"]
    assert fourth["row"] == fourth["top"]
    assert fourth["hash"] == "#step=4"
    assert "- → T1 S a[*]" in fourth["cells"]
    assert third["words"].startswith("Step 3 of 29, 100.000 ms: n1 a is enlisted by T1")
    assert not any("T1 S a[*]" in cell for cell in third["cells"])
    assert "50 → 100" in third["cells"]
    assert seen["first"]["chosen"] == ["step-1"]


def test_buttons_and_clicks_step_as_keys_do(seen: Any) -> None:
    assert seen["button"]["chosen"] == ["step-2"]
    assert seen["click"]["chosen"] == ["step-8"]
    assert "100 → 100+10" in seen["click"]["cells"]
    assert seen["ended"]["hidden"]
    assert seen["wider"] == pytest.approx(1.25 * seen["wide"], abs=1)


def test_all_is_open_when_it_is_printed(seen: Any) -> None:
    assert seen["printed"]
    assert all(seen["printed"])


def test_a_broken_script_is_seen(seen: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_picture(run(plan(load("findings/F-1"), 0)), file)
    text = file.read_text("utf-8")
    for right, wrong in (
        ("texts = { ...from, ...after };", "texts = after;"),
        ("const steps =", "console.error('planted');\n  const steps ="),
    ):
        assert right in text
        text = text.replace(right, wrong)
    file.write_text(text, "utf-8")
    found = driven(file, tmp_path)
    assert found["errors"] == ["planted"]
    assert found["fourth"]["cells"] != seen["fourth"]["cells"]
