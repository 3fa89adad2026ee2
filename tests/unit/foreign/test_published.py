"""Cases that others have published, with the strongest model that each source allows.

Elle's tests (list-append, rw-register), Hermitage's (Kleppmann, what isolation levels prevent), the
examples of Cerone, Bernardi, Gotsman (CONCUR 2015), the patterns of Plume (Liu et al., OOPSLA
2024), Fekete's read-only anomaly (SIGMOD Record 2004). Values that a source leaves unwritten are
written by a transaction of their own. The notation is that of `test_by_hand`.
"""

import pytest

from ddlsim.foreign import jepsen
from ddlsim.graph.models import MODELS
from tests.unit.foreign.test_by_hand import RA, RC, RU, SER, SI, STRICT, allowed, as_edn

CASES = {
    "Elle: an append that no read shows comes last": (
        ("[:append x 1] [:append y 1] | [:append x 2] [:append y 2] | [:append x 3] [:append y 3] "
        "| [:r x [1 2]] | [:r y [2]]"), "", {"G0", "G-single"}),
    "Elle: G-nonadjacent": (
        "[:append x 1] | [:r x [1]] [:r y []] | [:append y 1] | [:r y [1]] [:r x []]",
        RA, {"G-nonadjacent", "long-fork"}),
    "Elle: anti-dependencies in a row": (
        ("[:append x 5] | [:r x [5]] [:append y 1] | [:r y []] [:append z 2] "
        "| [:r z []] [:append x 6]"), SI, {"G2-item"}),
    "Elle: lost update": (
        "[:append x 0] | [:r x [0]] [:append x 1] | [:r x [0]] [:append x 2]",
        RA, {"lost-update", "G2-item"}),
    "Elle: a transaction may write twice over what it read": (
        "[:r x []] [:append x 1] [:append x 2] | [:r x [1 2]]", STRICT, set()),
    "Elle: G-single on items": (
        "[:append x 1] [:append y 1] | [:r x [1]] [:r y []]", RC, {"G-single", "fractured-read"}),
    "Elle: an indirect dirty update": (
        "fail [:append x 1] | info [:append x 2] | [:append x 3] | [:r x [1 2 3]]", RU, {"G1a"}),
    "Elle: reads that contradict each other": (
        ("[:append x 1] [:r y [1]] | [:append x 2] | [:append x 3] [:append y 1] | [:r x [1 3]] "
        "| [:r x [1 2 3]]"), "", {"incompatible-order"}),
    "Elle: a read of nothing that was not answered": (
        "info [:append x 2] [:r y []] | [:append x 1] [:append y 1] | [:r x [1 2]] [:r y [1]]",
        STRICT, set()),
    "Elle: writes follow reads": (
        "[:w y 1] | [:r y 1] [:w x 1] [:w y 2] | [:r x 1] [:r y 1]",
        RC, {"G-single", "fractured-read"}),
    "Elle: the initial state comes first": (
        "[:r x nil] [:r y 1] | [:w y 1] [:w x 2]", RC, {"G-single", "fractured-read"}),
    "Hermitage: G1a": ("[:w x 10] ; fail [:w x 101] | [:r x 101] | [:r x 10]", RU, {"G1a"}),
    "Hermitage: G1b": ("[:w x 10] ; [:w x 101] [:w x 11] | [:r x 101]", RU, {"G1b"}),
    "Hermitage: G1c": (
        "[:w x 10] [:w y 20] ; [:w x 11] [:r y 22] | [:w y 22] [:r x 11]", RU, {"G1c"}),
    "Hermitage: observed transaction vanishes": (
        "[:append x 1] [:append y 1] | [:append x 2] [:append y 2] | [:r x [1 2]] [:r y [1]]",
        RC, {"G-single", "fractured-read"}),
    "Hermitage: G-single": (
        "[:w x 10] [:w y 20] ; [:r x 10] [:r y 18] | [:r x 10] [:r y 20] [:w x 12] [:w y 18]",
        RC, {"G-single", "fractured-read"}),
    "Hermitage: lost update": (
        "[:w x 10] ; [:r x 10] [:w x 11] | [:r x 10] [:w x 12]", RA, {"lost-update", "G2-item"}),
    "Cerone: fractured reads": (
        "[:w x 1] [:w y 1] | [:r x 1] [:r y nil]", RC, {"G-single", "fractured-read"}),
    "Cerone: causality violation": (
        "[:w x 1] | [:r x 1] [:w y 1] | [:r y 1] [:r x nil]", RA, {"G-single"}),
    "Fekete: a read-only transaction": (
        ("[:w x 0] [:w y 0] ; [:r x 0] [:r y 0] [:w x -11] | [:r y 0] [:w y 20] "
        "| [:r x 0] [:r y 20]"), SI, {"G2-item"}),
    "Plume: thin air": ("[:w x 1] | [:r x 99]", "", {"garbage-read"}),
    "Plume: not the last own write": (
        "[:w x 1] [:w x 2] [:r x 1]", RU, {"internal", "missed-own-write"}),
    "Plume: not the own write": (
        "[:w x 1] [:r x 2] | [:w x 2]", RU, {"internal", "missed-own-write"}),
    "Plume: a read that cannot be repeated": (
        "[:w x 1] | [:w x 2] | [:r x 1] [:r x 2]", RC, {"internal"}),
    "Plume: fractured, of two that wrote both": (
        "[:w x 1] [:w y 1] | [:w x 2] [:w y 2] | [:r x 1] [:r y 2]", RC, {"cyclic-versions"}),
    "Plume: a session reads backwards": (
        "1: [:w x 1] ; 1: [:w x 2] ; 2: [:r x 2] ; 2: [:r x 1]", SER, {"G-single-process"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_published_case_has_its_verdict_under_every_model(name: str) -> None:
    said, strongest, types = CASES[name]
    history = jepsen.parse(as_edn(said).encode())
    found = {model: jepsen.judge(history, model).verdict for model in MODELS}
    assert {model for model, one in found.items() if one.valid is True} == allowed(strongest)
    assert not any(one.valid == "unknown" for one in found.values())
    assert types <= set(found[STRICT].types)
    assert not types or set(found[STRICT].ruled_out) >= set(MODELS) - allowed(strongest) - {RU}
