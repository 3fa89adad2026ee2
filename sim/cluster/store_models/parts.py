"""The processes of the store together with their models."""

from dataclasses import replace

from ddlsim.cluster.store_models.beside import StoreModels
from ddlsim.cluster.store_models.controller import ModelledController
from ddlsim.cluster.store_models.log import ModelledLog
from ddlsim.cluster.store_models.proxies import ModelledGrv, ModelledProxy
from ddlsim.cluster.store_models.resolver import ModelledResolver
from ddlsim.cluster.store_models.sequencer import ModelledSequencer
from ddlsim.cluster.store_models.storage import ModelledStorage
from ddlsim.layer.classes import LayerClasses


def modelled_store(classes: LayerClasses, beside: StoreModels) -> LayerClasses:
    """These classes, which compare themselves with the models of a store."""
    own = {"beside": beside}
    return replace(
        classes,
        sequencer=type("Sequencer", (ModelledSequencer, classes.sequencer), own),
        grv=type("Grv", (ModelledGrv, classes.grv), own),
        proxy=type("Proxy", (ModelledProxy, classes.proxy), own),
        resolver=type("Resolver", (ModelledResolver, classes.resolver), own),
        log=type("Log", (ModelledLog, classes.log), own),
        storage=type("Storage", (ModelledStorage, classes.storage), own),
        controller=type("Controller", (ModelledController, classes.controller), own),
    )
