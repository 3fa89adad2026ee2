"""Commands that begin Spark take a JVM that is tuned to start quickly."""

import pytest

from ddlsim.analysis.spark import session as sessions


@pytest.fixture(autouse=True)
def quick_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `spark-submit` adds to the options of the driver's JVM."""
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", sessions.QUICK_JAVA)
