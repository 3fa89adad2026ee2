"""Commands that begin Spark take a JVM that is tuned to start quickly, and interpreted plans."""

from pathlib import Path

import pytest

from tests.support.quick_spark import QUICK, QUICK_JAVA


@pytest.fixture(scope="session")
def quick_defaults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the settings that `spark-submit` takes as defaults."""
    folder = tmp_path_factory.mktemp("spark-conf")
    lines = [f"{key} {value}\n" for key, value in QUICK.items() if ".sql." in key]
    (folder / "spark-defaults.conf").write_text("".join(lines), "utf-8")
    return folder


@pytest.fixture(autouse=True)
def quick_spark(monkeypatch: pytest.MonkeyPatch, quick_defaults: Path) -> None:
    """What `spark-submit` adds to the options of the driver's JVM and to the session's."""
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", QUICK_JAVA)
    monkeypatch.setenv("SPARK_CONF_DIR", str(quick_defaults))
