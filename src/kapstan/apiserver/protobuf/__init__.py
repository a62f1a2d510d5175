"""Kubernetes' protobuf for request bodies: built-in kinds as client-go sends them, decoded to JSON's shape."""

from kapstan.apiserver.protobuf.decoder import MAGIC, UnknownKind, decode, is_protobuf
from kapstan.apiserver.protobuf.wire import ProtobufError

__all__ = ("MAGIC", "ProtobufError", "UnknownKind", "decode", "is_protobuf")
