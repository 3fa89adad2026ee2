"""An index in JSON: its state stands there only where it is not public."""

import msgspec
import pytest

from ddlsim.model.schema import INDEX_STATES, PUBLIC, Index


def test_a_public_index_in_json_is_as_it_was_before_indexes_had_states() -> None:
    written = msgspec.json.encode(Index(9, "i", (1,)))
    assert written == b'{"id":9,"name":"i","columns":[1],"unique":false}'
    assert msgspec.json.decode(written, type=Index).state == PUBLIC


@pytest.mark.parametrize("state", INDEX_STATES)
def test_an_index_survives_json(state: str) -> None:
    index = Index(9, "i", (1,), unique=True, state=state)
    written = msgspec.json.encode(index)
    assert (b"state" in written) == (state != PUBLIC)
    assert msgspec.json.decode(written, type=Index) == index
