"""Mutating admission policies: one after the other, each seeing what those before it made of the object."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct

from kapstan.apiserver.admission.expressions import Compiled, ExpressionFailed, OutOfBudget
from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.policy.activation import Activation, namespace_object
from kapstan.apiserver.admission.policy.compiler import PolicyCompiler
from kapstan.apiserver.admission.policy.definition import Binding, BoundPolicies, BoundPolicy, PolicySpec
from kapstan.apiserver.admission.policy.matching import PolicyMatcher
from kapstan.apiserver.admission.policy.params import Misconfigured, collect, resolve
from kapstan.apiserver.admission.policy.patches import PatchFailed, Target
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.admission.reinvocation import Reinvocation
from kapstan.apiserver.admission.versions import Changing
from kapstan.apiserver.admission.webhook.invocation import kind_of
from kapstan.apiserver.authz.interface import Authorizer
from kapstan.apiserver.kinds import ServedKind
from kapstan.apiserver.registry.objects import same
from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.errors import APIError, from_status
from kapstan.machinery.golang import quote
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.meta import StatusCause

__all__ = ("MutatingPolicies", "PolicyMutation")

Object = dict[str, Any]

_GROUP = "admissionregistration.k8s.io"
_POLICIES = GroupResource(_GROUP, "mutatingadmissionpolicies")
_BINDINGS = GroupResource(_GROUP, "mutatingadmissionpolicybindings")


class _Expression(Struct, frozen=True):
    expression: str = ""


class _Mutation(Struct, frozen=True, rename="camel"):
    patch_type: str
    apply_configuration: _Expression = _Expression()
    json_patch: _Expression = _Expression()


class _Spec(PolicySpec, frozen=True, rename="camel"):
    mutations: tuple[_Mutation, ...] = ()
    reinvocation_policy: str = "Never"


class _Document(Struct, frozen=True):
    spec: _Spec


class _Patch(NamedTuple):
    """One mutation, compiled: it makes an object to apply, or the operations of a JSON patch."""

    compiled: Compiled
    applies: bool


class Mutator:
    """The expressions of a policy."""

    def __init__(self, spec: _Spec) -> None:
        compiler = PolicyCompiler(params=types.DYN if spec.param_kind is not None else None)
        self.reinvocable = spec.reinvocation_policy == "IfNeeded"
        self.ignores_failure = spec.failure_policy == "Ignore"
        self.variables = {one.name: compiler.variable(one.name, one.expression) for one in spec.variables}
        self.conditions = tuple(compiler.condition(one.expression) for one in spec.match_conditions)
        self.patches = [_compiled(one, compiler) for one in spec.mutations]


def _compiled(mutation: _Mutation, compiler: PolicyCompiler) -> _Patch:
    if mutation.patch_type == "ApplyConfiguration":
        return _Patch(compiler.mutation(mutation.apply_configuration.expression, "Object"), applies=True)
    return _Patch(compiler.mutation(mutation.json_patch.expression, "list(JSONPatch)"), applies=False)


def _parse(value: bytes) -> tuple[PolicySpec, Mutator]:
    spec = codec.decode(value, _Document).spec
    return spec, Mutator(spec)


class MutatingPolicies:
    """The mutating policies of one logical cluster."""

    def __init__(self, storage: Storage, authorizer: Authorizer) -> None:
        self.matcher = PolicyMatcher(storage, BoundPolicies(storage, _POLICIES, _BINDINGS, _parse))
        self.authorizer = authorizer

    def mutation(self, attributes: AdmissionAttributes) -> PolicyMutation | None:
        """One write's way through the policies; None if there is none for it."""
        if attributes.operation == "DELETE" or not self.matcher.candidates(attributes):
            return None
        return PolicyMutation(self, attributes)


class _Invocation(NamedTuple):
    """A policy to evaluate, with one object of parameters."""

    policy: BoundPolicy[Mutator]
    binding: Binding
    kind: ServedKind
    params: Object | None

    @property
    def key(self) -> tuple[str, ...]:
        metadata = self.params["metadata"] if self.params is not None else {}
        return self.policy.name, self.binding.name, metadata.get("namespace", ""), metadata.get("name", "")


class _Denial(NamedTuple):
    message: str
    reason: str = ""


class PolicyMutation:
    """One write's way through the policies, which may be gone twice."""

    def __init__(self, policies: MutatingPolicies, attributes: AdmissionAttributes) -> None:
        self._policies = policies
        self._attributes = attributes
        self._reinvocation = Reinvocation()

    @property
    def changed(self) -> bool:
        return self._reinvocation.changed

    async def run(self) -> None:
        """One round; the second one evaluates only policies that have to see what changed since."""
        attributes, denials = self._attributes, list[_Denial]()
        invocations = await self._invocations(denials)
        if invocations:
            self._reinvocation.begin(attributes.object)
            changing = Changing(attributes)
            patched = False
            for invocation in invocations:
                patched = await self._invoke(invocation, changing, denials) or patched
            attributes.object = await changing.settled()
            if patched:  # whether anything is different now or not
                self._reinvocation.mark_changed()
            self._reinvocation.finish(attributes.object)
        if denials:
            raise _refused(attributes, denials)

    async def _invocations(self, denials: list[_Denial]) -> list[_Invocation]:
        """What there is to evaluate; what cannot be is among the denials."""
        attributes, matcher = self._attributes, self._policies.matcher
        found: list[_Invocation] = []
        for candidate in matcher.candidates(attributes):
            policy = candidate.policy
            kind = matcher.kind(candidate, attributes)
            if kind is None:
                continue
            try:
                param_kind = resolve(policy.param_kind, attributes) if policy.param_kind is not None else None
            except Misconfigured as error:
                _deny(denials, policy, None, f"failed to configure policy: {error}")
                continue
            for binding in matcher.bindings(candidate, attributes):
                try:
                    params = await collect(param_kind, binding.params, attributes)
                except Misconfigured as error:
                    _deny(denials, policy, binding, f"failed to configure binding: {error}")
                    continue
                found += (_Invocation(policy, binding, kind, one) for one in params)
        return found

    async def _invoke(self, invocation: _Invocation, changing: Changing, denials: list[_Denial]) -> bool:
        """Whether a patch was applied, also one that changed nothing."""
        policy, binding, kind, _ = invocation
        mutator = policy.evaluator
        before, _ = await changing.seen_by(kind)
        try:
            if mutator.conditions:
                activation = await self._activation(invocation, changing)
                if not await activation.matches(mutator.conditions):
                    return False
        except (ExpressionFailed, OutOfBudget) as error:
            _deny(denials, policy, binding, str(error), "Invalid")
            return False
        if not self._reinvocation.calls(invocation.key):
            return False
        patched = False
        for patch in mutator.patches if before is not None else ():
            try:
                await self._patch(patch, invocation, changing)
                patched = True
            except (ExpressionFailed, OutOfBudget, PatchFailed) as error:
                _deny(denials, policy, binding, str(error), "Invalid")
        after = changing.object
        if before is not None and after is not None and not same(before, after):
            self._reinvocation.mark_changed()
        if mutator.reinvocable:
            self._reinvocation.mark_invoked(invocation.key)
        return patched

    async def _patch(self, patch: _Patch, invocation: _Invocation, changing: Changing) -> None:
        if patch.compiled.program is None:
            raise PatchFailed(patch.compiled.error)
        activation = await self._activation(invocation, changing)
        value = await activation.evaluator().evaluate(patch.compiled)
        obj, _ = await changing.seen_by(invocation.kind)
        assert obj is not None
        target = Target(invocation.kind, kind_of(invocation.kind, self._attributes.subresource))
        changing.object = target.apply(obj, value) if patch.applies else target.patch(obj, value)

    async def _activation(self, invocation: _Invocation, changing: Changing) -> Activation:
        kind, attributes = invocation.kind, self._attributes
        return Activation(
            attributes,
            self._policies.authorizer,
            kind,
            await changing.seen_by(kind),
            invocation.params,
            namespace_object(attributes),
            invocation.policy.evaluator.variables,
        )


def _deny(
    denials: list[_Denial], policy: BoundPolicy[Mutator], binding: Binding | None, why: str, reason: str = ""
) -> None:
    if policy.ignores_failure:
        return
    by = (
        f"policy '{policy.name}' with binding '{binding.name}'"
        if binding is not None
        else f"policy {quote(policy.name)}"
    )
    denials.append(_Denial(f"{by} denied request: {why}", reason))


def _refused(attributes: AdmissionAttributes, denials: list[_Denial]) -> APIError:
    status = refused(attributes, "").status
    status.message = denials[0].message
    status.reason = denials[0].reason or status.reason
    assert status.details is not None
    status.details.causes = [StatusCause(message=denial.message) for denial in denials]
    return from_status(status)
