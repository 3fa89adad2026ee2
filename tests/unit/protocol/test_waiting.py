"""How long to wait for an answer before asking again."""

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.protocol.waiting import resend_delay
from ddlsim.units import US_PER_MS
from tests.support.protocol import settings


def test_resend_delay_doubles_up_to_the_operation_timeout() -> None:
    """Here 20 ms at first, and 400 ms at last."""
    waits = [resend_delay(settings(), tries) for tries in range(7)]
    assert waits == [20_000, 40_000, 80_000, 160_000, 320_000, 400_000, 400_000]


def test_resend_delay_is_at_least_resend_ms() -> None:
    """Then every wait is that one."""
    hurried = settings(operation_timeout_ms=5)
    assert {resend_delay(hurried, tries) for tries in range(5)} == {20_000}


@given(st.integers(1, 10**3), st.integers(1, 10**5), st.integers(0, 10**6))
def test_resend_delay_grows_and_is_bounded(resend: int, limit: int, tries: int) -> None:
    """However often it was tried."""
    of = settings(resend_ms=resend, operation_timeout_ms=limit)
    here, next_one = resend_delay(of, tries), resend_delay(of, tries + 1)
    assert resend * US_PER_MS <= here <= next_one <= max(resend, limit) * US_PER_MS
