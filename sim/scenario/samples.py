"""The measured samples that a scenario draws from: read, checked against its nodes, sorted once."""

from collections.abc import Iterator
from typing import Any

from ddlsim.kernel.rng import Constant, Distribution, Empirical, Spread
from ddlsim.model.records import Record
from ddlsim.scenario import config
from ddlsim.scenario.files import Files
from ddlsim.scenario.measured import Group, Measured, parse
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, ScenarioError, near


class Samples(Record, frozen=True):
    """The samples of a file for each link or node, and for all together."""

    groups: dict[Group, Empirical]
    pooled: Empirical

    def of(self, number: config.Empirical, group: Group) -> Empirical:
        """The values of one link or node; all of them where it was not measured by itself."""
        return self.pooled if number.pooled else self.groups.get(group, self.pooled)


SamplesByFile = dict[str, Samples]


def read_samples(
    clocks: config.Clocks,
    network: config.Network,
    nodes: tuple[str, ...],
    origin: Origin,
    files: Files,
) -> SamplesByFile:
    """Every file of measurements that `[clocks]` and `[network]` name."""
    found: SamplesByFile = {}
    for number, quantity, path in _places(clocks, network):
        where: Path = (*path, "file")
        try:
            text = files.read(number.file, origin, where)
            measured = parse(text, number.file, quantity)
        except ScenarioError as error:
            what = str(error)
            raise error if what.startswith(origin.name) else origin.error(where, what) from None
        if not number.pooled:
            _check_names(measured, nodes, origin, path)
        found[number.file] = samples_of(measured)
    return found


def samples_of(measured: Measured) -> Samples:
    """Measurements as distributions."""
    return Samples(
        groups={group: Empirical(tuple(sorted(own))) for group, own in measured.groups.items()},
        pooled=Empirical(tuple(sorted(measured.pooled))),
    )


def _places(
    clocks: config.Clocks, network: config.Network
) -> Iterator[tuple[config.Empirical, str, Path]]:
    """Every key that may name a file of measurements."""
    given: list[tuple[Any, str, Path]] = [
        (clocks.offset_ms, "offset", ("clocks", "offset_ms")),
        (network.latency_ms, "delay", ("network", "latency_ms")),
        (network.client_latency_ms, "delay", ("network", "client_latency_ms")),
    ]
    for index, link in enumerate(network.links):
        given.append((link.latency_ms, "delay", ("network", "links", index, "latency_ms")))
    for number, quantity, path in given:
        if isinstance(number, config.Empirical):
            yield number, quantity, path


def _check_names(measured: Measured, nodes: tuple[str, ...], origin: Origin, path: Path) -> None:
    """Links and nodes of the file must be the cluster's, unless all values are for all of them."""
    for group, line in measured.lines.items():
        for name in group:
            if name not in nodes:
                what = f"{measured.name}:{line}: no node is called {name!r}; {near(name, nodes)}"
                raise origin.error(path, f"{what}; or say pooled = true")


def latency(
    number: float | Spread | config.Empirical, samples: SamplesByFile, group: Group
) -> Distribution:
    """The distribution of a link's latency."""
    match number:
        case config.Empirical():
            return samples[number.file].of(number, group)
        case int() | float():
            return Constant(number)
        case _:
            return number
