"""Variables of a ClusterClass: their declarations, in a subset of OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, field

from kapstan.cluster.api.core.common import NonEmptyMetadata
from kapstan.machinery.markers import Default, ListAtomic, ListMap, MinProperties
from kapstan.machinery.meta import Int64
from kapstan.machinery.model import Model

__all__ = ("ClassVariable", "ObservedVariable", "VariableName", "VariableSchema")

VariableName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256)]
Reason: TypeAlias = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]


class VariableRule(Model):
    """A rule in CEL."""

    rule: Annotated[str, Meta(min_length=1, max_length=4096)]
    """The expression; `self` is the value."""
    message: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    """What is said when the rule is broken."""
    message_expression: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    """An expression that gives the message."""
    reason: Annotated[Reason, Default("FieldValueInvalid")] | None = None
    """The kind of failure, for programs."""
    field_path: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    """The part of the value that is wrong."""


class ValueSchema(Model):
    """What values a variable may have. The keywords are OpenAPI's."""

    description: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    """What the value is for."""
    example: Any | None = None
    """An example."""
    type: Literal["object", "array", "string", "integer", "number", "boolean"] | None = None
    """The type of the value."""
    properties: Any | None = None
    """Fields of an object."""
    additional_properties: Any | None = None
    """The values of a map."""
    max_properties: Int64 | None = None
    """At most that many fields."""
    min_properties: Int64 | None = None
    """At least that many fields."""
    required: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=256)]], Meta(min_length=1, max_length=1000), ListAtomic()
    ] = field(default_factory=list)
    """Fields that must be there."""
    items: Any | None = None
    """Items of an array."""
    max_items: Int64 | None = None
    """At most that many items."""
    min_items: Int64 | None = None
    """At least that many items."""
    unique_items: bool | None = None
    """Whether no two items may be equal."""
    format: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    """The format of a string or number."""
    max_length: Int64 | None = None
    """At most that many characters."""
    min_length: Int64 | None = None
    """At least that many characters."""
    pattern: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    """A regular expression for strings."""
    maximum: Int64 | None = None
    """The largest number."""
    exclusive_maximum: bool | None = None
    """Whether the largest number itself is excluded."""
    minimum: Int64 | None = None
    """The smallest number."""
    exclusive_minimum: bool | None = None
    """Whether the smallest number itself is excluded."""
    x_kubernetes_preserve_unknown_fields: bool | None = field(default=None, name="x-kubernetes-preserve-unknown-fields")
    """Whether fields that the schema does not know are kept."""
    enum: Annotated[list[Any], Meta(max_length=100), ListAtomic()] = field(default_factory=list)
    """The only values that there are."""
    default: Any | None = None
    """The value where none is given."""
    x_kubernetes_validations: Annotated[list[VariableRule], Meta(min_length=1, max_length=100), ListMap("rule")] = (
        field(default_factory=list, name="x-kubernetes-validations")
    )
    """Rules in CEL."""
    x_metadata: NonEmptyMetadata | None = field(default=None, name="x-metadata")
    """Labels and annotations of the declaration itself."""
    x_kubernetes_int_or_string: bool | None = field(default=None, name="x-kubernetes-int-or-string")
    """Whether the value is a number or a string."""
    one_of: Any | None = None
    """Exactly one of these schemas holds."""
    any_of: Any | None = None
    """At least one of these schemas holds."""
    all_of: Any | None = None
    """All of these schemas hold."""
    not_: Any | None = None
    """This schema does not hold."""


class VariableSchema(Model):
    """The schema of a variable."""

    open_api_v3_schema: Annotated[ValueSchema, MinProperties(1)] = field(name="openAPIV3Schema")
    """In a subset of OpenAPI v3."""


class ClassVariable(Model):
    """A variable that clusters of the class may, or must, set."""

    name: VariableName
    """Its name."""
    required: bool
    """Whether a cluster must set it."""
    deprecated_v1beta1_metadata: NonEmptyMetadata | None = field(default=None, name="deprecatedV1Beta1Metadata")
    """Labels and annotations as v1beta1 had them."""
    schema: VariableSchema
    """What values it may have."""


class VariableDefinition(Model):
    """A declaration of a variable, and who made it."""

    from_: Annotated[str, Meta(min_length=1, max_length=256)]
    """`inline`, or the name of the patch that declared it."""
    required: bool
    """Whether a cluster must set it."""
    deprecated_v1beta1_metadata: NonEmptyMetadata | None = field(default=None, name="deprecatedV1Beta1Metadata")
    """Labels and annotations as v1beta1 had them."""
    schema: VariableSchema
    """What values it may have."""


class ObservedVariable(Model):
    """A variable with all of its declarations."""

    name: VariableName
    """Its name."""
    definitions_conflict: bool | None = None
    """Whether the declarations contradict each other."""
    definitions: Annotated[list[VariableDefinition], Meta(min_length=1, max_length=100), ListAtomic()]
    """The declarations."""
