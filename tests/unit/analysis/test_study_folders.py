"""What a study leaves behind where it is ended from outside: nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT
from tests.support.waiting import until

STUDY = """
import time
from pathlib import Path
from ddlsim.analysis.databases.servers import servers
with servers() as found:
    Path(found.url("sqlite").removeprefix("sqlite:///")).write_text("made")
    time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_study_that_is_ended_leaves_no_folder(how: signal.Signals, tmp_path: Path) -> None:
    begun = subprocess.Popen([sys.executable, "-c", STUDY], cwd=ROOT,
                             env={**os.environ, "TMPDIR": str(tmp_path)})  # fmt: skip
    try:
        until(lambda: any(tmp_path.rglob("*.sqlite")), "the file", lambda: begun.poll() is None)
    finally:
        begun.send_signal(how)
        begun.wait()
    until(lambda: not any(tmp_path.iterdir()), "the end of the folder")
