"""Instruments, and what Prometheus sees of them."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kapstan.runtime.metrics import Histogram, Registry


def samples(registry: Registry) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What a scraper reads, by name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(registry.exposition().decode())
        for sample in family.samples
    }


def test_counters_keep_their_name() -> None:
    registry = Registry()
    registry.counter("workqueue_adds_total", "Adds", ["name"]).labels("memcached").inc(3)
    assert samples(registry)["workqueue_adds_total", frozenset({("name", "memcached")})] == 3


def test_gauges_are_set_or_read_at_the_scrape() -> None:
    registry = Registry()
    workers = registry.gauge("workers", "Workers")
    workers.labels().set(4)
    workers.labels().dec()
    depth = registry.gauge("depth", "Depth").labels()
    depth.source = lambda: 7
    found = samples(registry)
    assert (found["workers", frozenset()], found["depth", frozenset()]) == (3, 7)


def test_histograms_have_cumulative_buckets_with_inclusive_bounds() -> None:
    registry = Registry()
    seconds = registry.histogram("seconds", "Seconds", bounds=(0.1, 1.0)).labels()
    for value in (0.1, 0.5, 3):
        seconds.observe(value)
    found = samples(registry)
    buckets = [found["seconds_bucket", frozenset({("le", bound)})] for bound in ("0.1", "1.0", "+Inf")]
    assert buckets == [1, 2, 3]
    assert found["seconds_count", frozenset()] == 3
    assert found["seconds_sum", frozenset()] == pytest.approx(3.6)


def test_a_metric_asked_for_twice_is_one() -> None:
    registry = Registry()
    registry.counter("a_total", "A").labels().inc()
    registry.counter("a_total", "A").labels().inc()
    assert registry.value("a_total") == 2


def test_wrong_labels_are_refused_with_the_right_ones() -> None:
    family = Registry().counter("a_total", "A", ["controller"])
    with pytest.raises(ValueError, match=r"a_total has the labels \('controller',\)"):
        family.labels()


def test_what_is_collected_before_the_scrape_is_fresh() -> None:
    registry = Registry()
    gauge = registry.gauge("age", "Age").labels()
    registry.before_scrape(lambda: gauge.set(gauge.value + 1))
    samples(registry)
    assert samples(registry)["age", frozenset()] == 2


def test_the_process_itself_is_measured() -> None:
    names = {name for name, _ in samples(Registry())}
    assert {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"} <= names


def test_an_empty_histogram_counts_nothing() -> None:
    assert Histogram().count == 0
