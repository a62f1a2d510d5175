"""Validating admission policies: what they have against a write refuses it, warns, or is only noted.

All policies are asked; the refusal that the client reads is the first one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct

from kapstan.apiserver.admission.expressions import Compiled, ExpressionFailed, OutOfBudget
from kapstan.apiserver.admission.interface import AdmissionAttributes
from kapstan.apiserver.admission.policy.activation import Activation, Evaluator, namespace_object
from kapstan.apiserver.admission.policy.compiler import PolicyCompiler
from kapstan.apiserver.admission.policy.definition import Binding, BoundPolicies, PolicySpec
from kapstan.apiserver.admission.policy.matching import Candidate, PolicyMatcher
from kapstan.apiserver.admission.policy.params import Misconfigured, collect, resolve
from kapstan.apiserver.admission.refusal import refused
from kapstan.apiserver.admission.versions import Seen
from kapstan.apiserver.authz.interface import Authorizer
from kapstan.apiserver.schema.cel import types
from kapstan.apiserver.storage.interface import Storage
from kapstan.machinery import codec
from kapstan.machinery.errors import APIError, from_status
from kapstan.machinery.gvk import GroupResource
from kapstan.machinery.meta import StatusCause

__all__ = ("ValidatingPolicies",)

Object = dict[str, Any]

_GROUP = "admissionregistration.k8s.io"
_POLICIES = GroupResource(_GROUP, "validatingadmissionpolicies")
_BINDINGS = GroupResource(_GROUP, "validatingadmissionpolicybindings")
_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Unauthorized": 401}
_MAX_MESSAGE = 5 * 1024


class _Validation(Struct, frozen=True, rename="camel"):
    expression: str
    message: str = ""
    message_expression: str = ""
    reason: str | None = None


class _AuditAnnotation(Struct, frozen=True, rename="camel"):
    key: str
    value_expression: str


class _Spec(PolicySpec, frozen=True, rename="camel"):
    validations: tuple[_Validation, ...] = ()
    audit_annotations: tuple[_AuditAnnotation, ...] = ()


class _Document(Struct, frozen=True):
    spec: _Spec


class _Check(NamedTuple):
    """One validation, compiled."""

    condition: Compiled
    message: Compiled | None
    validation: _Validation


class Denial(NamedTuple):
    """What a policy has against a write."""

    message: str
    reason: str = ""


class Verdict(NamedTuple):
    """What becomes of one evaluation. There is no audit log, but what cannot be written there refuses the write."""

    denials: list[Denial]  # what the binding says happens then
    errors: list[Denial]  # always refused


class _Refusal(NamedTuple):
    policy: str
    binding: str
    denial: Denial


class Validator:
    """The expressions of a policy, compiled when they are first needed."""

    def __init__(self, spec: _Spec) -> None:
        compiler = PolicyCompiler(params=types.DYN if spec.param_kind is not None else None)
        self.ignores_failure = spec.failure_policy == "Ignore"
        self.variables = {one.name: compiler.variable(one.name, one.expression) for one in spec.variables}
        self.conditions = tuple(compiler.condition(one.expression) for one in spec.match_conditions)
        self._checks = [
            _Check(
                compiler.condition(one.expression),
                compiler.message(one.message_expression) if one.message_expression else None,
                one,
            )
            for one in spec.validations
        ]
        self._annotations = [compiler.annotation(one.value_expression) for one in spec.audit_annotations]

    async def verdict(self, activation: Activation) -> Verdict:
        """What the policy has against the write; what cannot be evaluated counts, unless failures are ignored."""
        try:
            if not await activation.matches(self.conditions):
                return Verdict([], [])
            denials = await self._found(activation.evaluator())
            return Verdict(denials, await self._unfit_annotations(activation.evaluator()))
        except (ExpressionFailed, OutOfBudget) as error:
            return Verdict([] if self.ignores_failure else [Denial(str(error))], [])

    async def _unfit_annotations(self, evaluator: Evaluator) -> list[Denial]:
        found: list[Denial] = []
        for annotation in self._annotations:
            try:
                await evaluator.evaluate(annotation)
            except ExpressionFailed as error:
                if not self.ignores_failure:
                    found.append(Denial(str(error)))
        return found

    async def _found(self, evaluator: Evaluator) -> list[Denial]:
        results: list[tuple[_Check, Denial | None]] = []
        for check in self._checks:
            try:
                if await evaluator.evaluate(check.condition) is not True:
                    results.append((check, None))
            except ExpressionFailed as error:
                if not self.ignores_failure:
                    results.append((check, Denial(str(error))))
        return [failure or await _denial(check, evaluator) for check, failure in results]


async def _denial(check: _Check, evaluator: Evaluator) -> Denial:
    validation = check.validation
    try:
        message = await _evaluated_message(check.message, evaluator)
    except OutOfBudget as error:
        return Denial(f"failed messageExpression: {error}")
    message = message or validation.message.strip() or f"failed expression: {validation.expression.strip()}"
    return Denial(message, validation.reason or "Invalid")


async def _evaluated_message(compiled: Compiled | None, evaluator: Evaluator) -> str:
    """What the expression says; "" if it says nothing that can be shown."""
    if compiled is None:
        return ""
    try:
        value = await evaluator.evaluate(compiled)
    except ExpressionFailed:
        return ""
    message = value.strip() if isinstance(value, str) else ""
    return message if len(message.encode()) <= _MAX_MESSAGE and "\n" not in message else ""


class ValidatingPolicies:
    """The validating policies of one logical cluster."""

    def __init__(self, storage: Storage, authorizer: Authorizer) -> None:
        self._matcher = PolicyMatcher(storage, BoundPolicies(storage, _POLICIES, _BINDINGS, _parse))
        self._authorizer = authorizer

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """The first refusal is raised, when all policies have been evaluated."""
        candidates = self._matcher.candidates(attributes)
        if not candidates:
            return
        review = _Review(attributes, self._authorizer, self._matcher)
        for candidate in candidates:
            await review.evaluate(candidate)
        if review.refusals:
            raise _refused(attributes, review.refusals[0])


class _Review:
    """One write before all policies."""

    def __init__(
        self, attributes: AdmissionAttributes, authorizer: Authorizer, matcher: PolicyMatcher[Validator]
    ) -> None:
        self._attributes = attributes
        self._authorizer = authorizer
        self._matcher = matcher
        self._seen = Seen(attributes)
        self.refusals: list[_Refusal] = []

    async def evaluate(self, candidate: Candidate[Validator]) -> None:
        policy, attributes = candidate.policy, self._attributes
        kind = self._matcher.kind(candidate, attributes)
        if kind is None:
            return
        try:
            param_kind = resolve(policy.param_kind, attributes) if policy.param_kind is not None else None
        except Misconfigured as error:
            self._misconfigured(candidate, "", f"failed to configure policy: {error}")
            return
        seen = await self._seen.by(kind)
        for binding in self._matcher.bindings(candidate, attributes):
            try:
                found = await collect(param_kind, binding.params, attributes)
            except Misconfigured as error:
                self._misconfigured(candidate, binding.name, f"failed to configure binding: {error}")
                continue
            namespace = namespace_object(attributes)
            for params in found:
                validator = policy.evaluator
                activation = Activation(
                    attributes, self._authorizer, kind, seen, params, namespace, validator.variables
                )
                await self._evaluate(policy.name, binding, validator, activation)

    async def _evaluate(self, policy: str, binding: Binding, validator: Validator, activation: Activation) -> None:
        verdict = await validator.verdict(activation)
        for denial in verdict.denials:
            for action in binding.actions:
                if action == "Deny":
                    self.refusals.append(_Refusal(policy, binding.name, denial))
                elif action == "Warn":
                    by = f"ValidatingAdmissionPolicy '{policy}' with binding '{binding.name}'"
                    self._attributes.request.warn(f"Validation failed for {by}: {denial.message}")
        self.refusals += (_Refusal(policy, binding.name, error) for error in verdict.errors)

    def _misconfigured(self, candidate: Candidate[Validator], binding: str, message: str) -> None:
        if not candidate.policy.ignores_failure:
            self.refusals.append(_Refusal(candidate.policy.name, binding, Denial(message)))


def _parse(value: bytes) -> tuple[PolicySpec, Validator]:
    spec = codec.decode(value, _Document).spec
    return spec, Validator(spec)


def _refused(attributes: AdmissionAttributes, refusal: _Refusal) -> APIError:
    by = f"ValidatingAdmissionPolicy '{refusal.policy}'"
    if refusal.binding:
        by += f" with binding '{refusal.binding}'"
    message = f"{by} denied request: {refusal.denial.message}"
    status = refused(attributes, message).status
    status.reason = refusal.denial.reason or "Invalid"
    status.code = _CODES.get(status.reason, 422)
    assert status.details is not None
    status.details.causes = [StatusCause(message=message)]
    return from_status(status)
