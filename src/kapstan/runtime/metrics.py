"""Instruments: counters, gauges and histograms, cheap enough for the hottest loop.

They belong to the event loop and take no locks; `prometheus_client`, which writes them out, is imported only when
somebody scrapes. Names and buckets are controller-runtime's and client-go's, so that existing dashboards work.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ("DURATIONS", "Counter", "Family", "Gauge", "Histogram", "Registry")

# client-go's buckets of queue and work durations: 10 ns to 1000 s.
DURATIONS: tuple[float, ...] = tuple(float(f"1e{exponent}") for exponent in range(-8, 4))


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def inc(self, amount: float = 1) -> None:
        self.value += amount


class Gauge:
    """A number that goes up and down, set by whoever knows it or read at the scrape from `source`."""

    __slots__ = ("source", "value")

    def __init__(self) -> None:
        self.value: float = 0
        self.source: Callable[[], float] | None = None

    def set(self, value: float) -> None:
        self.value = value

    def inc(self, amount: float = 1) -> None:
        self.value += amount

    def dec(self, amount: float = 1) -> None:
        self.value -= amount

    def read(self) -> float:
        return self.value if self.source is None else self.source()


class Histogram:
    """How often an observed value fell into each bucket."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float] = DURATIONS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum: float = 0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)


I = TypeVar("I", Counter, Gauge, Histogram)  # noqa: E741 - an instrument


class Family(Generic[I]):
    """One metric: its instruments by the values of its labels."""

    def __init__(self, name: str, help: str, labels: Sequence[str], make: Callable[[], I]) -> None:
        self.name, self.help, self.label_names = name, help, tuple(labels)
        self.make: Callable[[], I] = make
        self._children: dict[tuple[str, ...], I] = {}

    def labels(self, *values: str) -> I:
        """The instrument with these label values; made on first use, so that it is exported from then on."""
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self.label_names):
                raise ValueError(f"metric {self.name} has the labels {self.label_names}, got the values {values}")
            child = self._children[values] = self.make()
        return child

    def adopt(self, instrument: I, *values: str) -> None:
        """Export an instrument that somebody else keeps."""
        self._children[values] = instrument

    def remove(self, *values: str) -> None:
        self._children.pop(values, None)

    def items(self) -> list[tuple[tuple[str, ...], I]]:
        return list(self._children.items())


class Registry:
    """The metrics of one manager."""

    def __init__(self) -> None:
        self._families: dict[str, Family[Any]] = {}
        self._collectors: list[Callable[[], None]] = []
        self._prometheus: CollectorRegistry | None = None

    def counter(self, name: str, help: str, labels: Sequence[str] = ()) -> Family[Counter]:
        return self._family(name, help, labels, Counter)

    def gauge(self, name: str, help: str, labels: Sequence[str] = ()) -> Family[Gauge]:
        return self._family(name, help, labels, Gauge)

    def histogram(
        self, name: str, help: str, labels: Sequence[str] = (), bounds: Sequence[float] = DURATIONS
    ) -> Family[Histogram]:
        return self._family(name, help, labels, lambda: Histogram(bounds))

    def before_scrape(self, collector: Callable[[], None]) -> None:
        """Have this called before each scrape, to set what is not worth keeping up to date between them."""
        self._collectors.append(collector)

    @property
    def prometheus(self) -> CollectorRegistry:
        """The `prometheus_client` registry that is exported: register metrics of your own here."""
        if self._prometheus is None:
            from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

            self._prometheus = CollectorRegistry()
            self._prometheus.register(_Export(self))
            for collector in (ProcessCollector, PlatformCollector, GCCollector):
                collector(registry=self._prometheus)
        return self._prometheus

    def exposition(self) -> bytes:
        """Everything in Prometheus' text format."""
        from prometheus_client import generate_latest

        return generate_latest(self.prometheus)

    def value(self, name: str, *labels: str) -> float:
        """What a counter or gauge, or a histogram's count, is now."""
        child = self._families[name].labels(*labels)
        if isinstance(child, Histogram):
            return child.count
        return float(child.read() if isinstance(child, Gauge) else child.value)

    def families(self) -> list[Family[Any]]:
        for collector in self._collectors:
            collector()
        return list(self._families.values())

    def _family(self, name: str, help: str, labels: Sequence[str], make: Callable[[], I]) -> Family[I]:
        family = self._families.get(name)
        if family is None:
            family = self._families[name] = Family(name, help, labels, make)
        return family


class _Export:
    """Shows a Registry to `prometheus_client`."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def describe(self) -> list[Any]:
        """Nothing: names are checked when they are made, and collecting here would freeze the set of metrics."""
        return []

    def collect(self) -> Iterator[Any]:
        return map(_exported, self._registry.families())


def _exported(family: Family[Any]) -> Any:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    children = family.items()
    kind = type(children[0][1]) if children else type(family.make())
    if kind is Histogram:
        histogram = HistogramMetricFamily(family.name, family.help, labels=family.label_names)
        for values, child in children:
            histogram.add_metric(values, _cumulative(child), child.sum)
        return histogram
    if kind is Counter:
        counter = CounterMetricFamily(family.name, family.help, labels=family.label_names)
        for values, child in children:
            counter.add_metric(values, child.value)
        return counter
    gauge = GaugeMetricFamily(family.name, family.help, labels=family.label_names)
    for values, child in children:
        gauge.add_metric(values, child.read())
    return gauge


def _cumulative(histogram: Histogram) -> list[tuple[str, float]]:
    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*map(str, histogram.bounds), "+Inf"), histogram.counts, strict=True):
        total += count
        buckets.append((bound, total))
    return buckets
