"""Single writes whose leader lacks the metadata for their stamp, retried as in Apache Ignite 3."""

from ddlsim.cluster.run import run
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load


def test_a_primary_without_metadata_answers_before_its_coordinator_asks_anew() -> None:
    history = run(plan(load("ignite3/delay_below_propagation_resend")))
    assert history.probes["one-phase-asked-again"] > 100
    assert "one-phase-repeated" not in history.probes
