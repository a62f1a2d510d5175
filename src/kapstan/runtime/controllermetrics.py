"""What controllers count, under controller-runtime's names."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from kapstan.runtime.metrics import Registry
from kapstan.runtime.workqueue import WorkQueue

__all__ = ("ControllerMetrics", "ReconcileResult")

ReconcileResult: TypeAlias = Literal["success", "error", "requeue_after"]

_CONTROLLER = ["controller"]
_QUEUE = ["name", "controller"]
_SECONDS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75,
    2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
)  # fmt: skip


class ControllerMetrics:
    """The instruments of one controller and its queue."""

    def __init__(self, registry: Registry, name: str, queue: WorkQueue[Any], workers: int) -> None:
        self._registry, self._name, self._queue = registry, name, queue
        results = registry.counter(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            ["controller", "result"],
        )
        self.results = {
            result: results.labels(name, result) for result in ("success", "error", "requeue", "requeue_after")
        }
        self.errors = self._count("reconcile_errors_total", "Total number of reconciliation errors per controller")
        self.terminal_errors = self._count(
            "terminal_reconcile_errors_total", "Total number of terminal reconciliation errors per controller"
        )
        self.panics = self._count("reconcile_panics_total", "Total number of reconciliation panics per controller")
        self.timeouts = self._count(
            "reconcile_timeouts_total", "Total number of reconciliation timeouts per controller"
        )
        self.seconds = registry.histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            _CONTROLLER,
            _SECONDS,
        ).labels(name)
        self.active = registry.gauge(
            "controller_runtime_active_workers", "Number of currently used workers per controller", _CONTROLLER
        ).labels(name)
        registry.gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            _CONTROLLER,
        ).labels(name).set(workers)
        self._export_queue()

    def _count(self, name: str, help: str) -> Any:
        return self._registry.counter(f"controller_runtime_{name}", help, _CONTROLLER).labels(self._name)

    def _export_queue(self) -> None:
        registry, stats, labels = self._registry, self._queue.stats, (self._name, self._name)
        registry.counter("workqueue_adds_total", "Total number of adds handled by workqueue", _QUEUE).adopt(
            stats.adds, *labels
        )
        registry.counter("workqueue_retries_total", "Total number of retries handled by workqueue", _QUEUE).adopt(
            stats.retries, *labels
        )
        registry.histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            _QUEUE,
        ).adopt(stats.queue_duration, *labels)
        registry.histogram(
            "workqueue_work_duration_seconds", "How long in seconds processing an item from workqueue takes.", _QUEUE
        ).adopt(stats.work_duration, *labels)
        unfinished = registry.gauge(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has been done that is in progress and hasn't been observed by work_duration.",
            _QUEUE,
        ).labels(*labels)
        unfinished.source = lambda: sum(self._queue.running())
        longest = registry.gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
            _QUEUE,
        ).labels(*labels)
        longest.source = lambda: max(self._queue.running(), default=0)
        registry.before_scrape(self._count_depth)

    def _count_depth(self) -> None:
        family = self._registry.gauge(
            "workqueue_depth", "Current depth of workqueue", ["name", "controller", "priority"]
        )
        depth = self._queue.depth()
        known = {int(values[2]) for values, _ in family.items() if values[0] == self._name}
        for priority in {0, *known, *depth}:
            family.labels(self._name, self._name, str(priority)).set(depth.get(priority, 0))
