"""Laws of judging external histories: the clean are never accused, the planted are named."""

import hypothesis.strategies as st
from hypothesis import given, settings

from ddlsim.foreign import jepsen
from ddlsim.graph.models import MODELS
from ddlsim.graph.verdict import NOTHING
from tests.support import jepsen_histories as synthetic
from tests.support.jepsen_histories import APPENDS, REGISTERS, Shape, history
from tests.support.jepsen_plants import PLANTS, plant

shapes = st.builds(
    Shape,
    transactions=st.integers(0, 60),
    workload=st.sampled_from([APPENDS, REGISTERS]),
    processes=st.integers(1, 12),
    operations=st.integers(1, 5),
    keys=st.integers(1, 6),
    writes_per_key=st.integers(1, 12),
    failed=st.sampled_from([0.0, 0.2]),
    unknown=st.sampled_from([0.0, 0.3]),
)
seeds = st.integers(0, 10**9)


@settings(max_examples=120)
@given(shapes, seeds, st.sampled_from(list(MODELS)))
def test_a_serial_execution_has_no_anomaly(shape: Shape, seed: int, model: str) -> None:
    made = history(shape, seed)
    if not any(one.value for one in made):
        return
    verdict = jepsen.judge(jepsen.parse(synthetic.edn(made).encode()), model).verdict
    assert verdict.valid is not False, verdict.anomalies
    assert not verdict.anomalies
    if NOTHING in verdict.notes:
        assert not any(one.value for one in made if one.type == "ok")
    elif shape.workload == APPENDS:
        assert verdict.valid is True, verdict.notes


@settings(max_examples=80)
@given(shapes, seeds, st.data())
def test_what_is_planted_is_named(shape: Shape, seed: int, data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(list(PLANTS[shape.workload])))
    clean = history(shape, seed)
    at = data.draw(st.integers(0, len(clean)))
    text = synthetic.edn(plant(clean, shape.workload, type_, at))
    verdict = jepsen.judge(jepsen.parse(text.encode()), "strict-serializable").verdict
    assert verdict.valid is False
    assert type_ in verdict.types
