"""What is compared beside each run of the store: parts that a run uses seldom, or in one way."""

from collections.abc import Iterator

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.once import Part
from ddlsim.cluster.store_models.client_walk import walk_client
from ddlsim.cluster.store_models.connection_walk import walk_connection
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.key_walk import walk_keys
from ddlsim.cluster.store_models.layer_moments import Moments
from ddlsim.cluster.store_models.layer_walk import LayerWalk
from ddlsim.cluster.store_models.library_ends import walk_ends
from ddlsim.cluster.store_models.library_walk import walk_library
from ddlsim.cluster.store_models.lock_forms import compare_rules
from ddlsim.cluster.store_models.log_walk import walk_log
from ddlsim.cluster.store_models.proxy_walk import walk_proxy
from ddlsim.cluster.store_models.task_forms import compare_kept, compare_modes, compare_tasks
from ddlsim.cluster.store_models.walks import walk_store
from ddlsim.cluster.store_models.watch_walk import walk_watches
from ddlsim.fdb.config import CONTROLLER
from ddlsim.layer.design import LayerDesign
from ddlsim.model.settings import Settings
from ddlsim.strategies.base import LAYER_DESIGNS


def beside(design: LayerDesign, settings: Settings, seed: int) -> Iterator[Part]:
    """The store, its library and the design's layer, as they are compared beside the run of a seed.

    A design with other rules than its own is known by what follows from them.
    """
    yield _walk_library, ()
    yield _walk_store, (seed,)
    yield _walk_processes, (settings, seed)
    if design.name in LAYER_DESIGNS and _rules(design) == _rules(LAYER_DESIGNS.get(design.name)):
        yield _walk_layer, (design, settings, seed)
        yield _compare_forms, (design, settings)


def walk_beside(models: Models, design: LayerDesign, settings: Settings, seed: int) -> None:
    """Compare all of it."""
    for compare, given in beside(design, settings, seed):
        compare(models, *given)


def _walk_library(models: Models) -> None:
    walk_ends(models)
    walk_client(models)


def _walk_store(models: Models, seed: int) -> None:
    walk_store(models, seed)
    walk_watches(models, seed)
    walk_keys(models, seed)
    walk_library(models, seed)
    walk_connection(models, seed)


def _walk_processes(models: Models, settings: Settings, seed: int) -> None:
    walk_log(models, settings, seed)
    walk_proxy(models, settings, seed)


def _walk_layer(models: Models, design: LayerDesign, settings: Settings, seed: int) -> None:
    LayerWalk(models.divergence("layer", CONTROLLER), design, settings, Draws(seed, 5)).take()
    Moments(models.divergence("layer", CONTROLLER), design, settings, Draws(seed, 6)).compare()


def _compare_forms(models: Models, design: LayerDesign, settings: Settings) -> None:
    for compare in (compare_rules, compare_tasks, compare_kept, compare_modes):
        compare(models.divergence("rules", CONTROLLER), design, settings)


def _rules(design: LayerDesign) -> dict[str, object]:
    """The rules of a design, without its numbers."""
    fields = {name: getattr(design, name) for name in design.__dataclass_fields__}
    return {name: rule for name, rule in fields.items() if not isinstance(rule, int)}
