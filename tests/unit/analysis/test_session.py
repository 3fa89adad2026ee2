"""A signal that ends a command does so whatever has become of Spark; no JVM is begun here."""

import logging
import signal
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from ddlsim.analysis.spark import session as sessions
from ddlsim.cli.signals import EndedError, as_interrupts


def fails() -> None:
    """What PySpark does where the session or its JVM has ended."""
    raise ConnectionRefusedError("no JVM is there")


def works() -> None:
    """What it does while the JVM is there."""


@pytest.mark.parametrize("cancel", [works, fails])
@pytest.mark.parametrize("stop", [works, fails])
@pytest.mark.parametrize("when", ["within", "behind"])
def test_sigterm_is_raised_as_such_whether_or_not_spark_can_be_called(
    cancel: Callable[[], None],
    stop: Callable[[], None],
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancelled: list[str] = []

    def cancel_all() -> None:
        cancelled.append("all")
        cancel()

    spark = SimpleNamespace(sparkContext=SimpleNamespace(cancelAllJobs=cancel_all))

    def begin(_master: str, **_more: object) -> object:
        sessions._cancel_first(spark)
        return spark

    def terminated() -> None:
        with sessions.session("local[2]"):
            if when == "within":
                signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(sessions, "begin", begin)
    monkeypatch.setattr(sessions, "end", lambda _spark: stop() if when == "within" else None)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(EndedError) as ended, as_interrupts():
            terminated()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 143
    assert cancelled == ["all"]


def test_an_interrupt_that_py4j_logs_puts_no_traceback_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def begin(_master: str, **_more: object) -> object:
        logging.error("KeyboardInterrupt while sending command.")
        raise KeyboardInterrupt

    monkeypatch.setattr(sessions, "begin", begin)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with pytest.raises(KeyboardInterrupt), sessions.session("local[2]"):
        pass
    assert capsys.readouterr().err == ""
    assert logging.getLogger().handlers == []
