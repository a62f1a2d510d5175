"""Phases: how every reconciler of core runs.

All phases run, even after one has failed: each looks after a part of its own. Then what they changed of the object is
written, then its status, which says what was seen whatever happened; the generation counts as observed only if all
went well. At last what went wrong is raised, so that it is tried again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from kapstan.cluster.skeleton.draft import Draft
from kapstan.cluster.skeleton.paused import refresh_paused
from kapstan.machinery.errors import Conflict, KapstanError
from kapstan.machinery.meta import ObjectMeta
from kapstan.runtime.reconcile import Outcome, Result

__all__ = ("Phase", "PhasesFailed", "Scoped", "run_phases", "soonest")

S = TypeVar("S", bound="Scoped", contravariant=True)

Phase: TypeAlias = Callable[[S], Awaitable[Outcome]]


class _Status(Protocol):
    observed_generation: int | None


class _Object(Protocol):
    metadata: ObjectMeta

    @property
    def status(self) -> _Status: ...


class Scoped(Protocol):
    """What one reconcile knows and works with. Phases fill it, the status is computed from it."""

    @property
    def draft(self) -> Draft[Any]: ...


class PhasesFailed(KapstanError):
    """Several phases have failed; the text says what each had to say."""


async def run_phases(scope: S, phases: Sequence[Phase[S]], observe: Callable[[S], Outcome]) -> Outcome:
    """Run the phases, write the object, compute its status with `observe` and write it; raise what went wrong."""
    draft = scope.draft
    errors: list[Exception] = []
    outcomes: list[Outcome] = []
    for phase in phases:
        try:
            outcomes.append(await phase(scope))
        except Exception as error:  # noqa: BLE001 - raised below, after the others have had their turn
            errors.append(error)
    try:
        await draft.save()
        if draft.gone:
            return None
        refresh_paused(draft.obj)
        outcomes.append(observe(scope))
        if not errors:
            obj: _Object = draft.obj
            obj.status.observed_generation = obj.metadata.generation or None
        await draft.save_status(own=True)
    except Conflict as error:
        errors.insert(0, error)  # whatever else went wrong may be of the past
    except Exception as error:  # noqa: BLE001 - raised below, with the others
        errors.append(error)
    _raise(errors)
    return soonest(outcomes)


def soonest(outcomes: Sequence[Outcome]) -> Outcome:
    """Of several times to look again, the first."""
    times = [outcome.seconds for outcome in outcomes if outcome is not None and outcome.seconds]
    return Result(requeue_after=min(times)) if times else None


def _raise(errors: Sequence[Exception]) -> None:
    if not errors:
        return
    if len(errors) == 1 or isinstance(errors[0], Conflict):
        raise errors[0]
    bug = next((error for error in errors if not isinstance(error, KapstanError)), None)
    if bug is not None:
        raise bug  # with its traceback; the others show themselves once it is mended
    raise PhasesFailed("; ".join(str(error) for error in errors))
