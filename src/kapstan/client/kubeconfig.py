"""Kubeconfig files: their format, and how several of them become one, by kubectl's rules.

Entries (clusters, users, contexts) are taken whole from the first file that has them; `current-context` from the first
file that sets it. Relative file names are relative to the folder of the file that they stand in. Nothing secret ever
shows in a `repr` or in an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from kapstan.machinery.codec import convert, load_yaml, to_builtins, to_yaml
from kapstan.machinery.errors import ConfigError

__all__ = ("Cluster", "Context", "Exec", "ExecVariable", "Kubeconfig", "Secretive", "User", "without_password")

EntryKind: TypeAlias = Literal["cluster", "user", "context"]
InteractiveMode: TypeAlias = Literal["Never", "IfAvailable", "Always"]
S = TypeVar("S", bound=Struct)


class Secretive(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record whose `repr` names its secrets but never shows them."""

    __secrets__: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"

    def _shown(self) -> Iterable[str]:
        for info in msgspec.structs.fields(self):
            value = getattr(self, info.name)
            default = info.default_factory() if callable(info.default_factory) else info.default
            if value == default:
                continue
            if info.name in self.__secrets__:
                yield f"{info.name}=<hidden>"
            elif isinstance(value, bytes):
                yield f"{info.name}=<{len(value)} bytes>"
            elif info.name == "proxy_url":
                yield f"{info.name}={without_password(value)!r}"
            else:
                yield f"{info.name}={value!r}"


class Cluster(Secretive, frozen=True, kw_only=True, rename="kebab"):
    """Where an API server is, and how to know that it is the right one."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: bytes = b""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[dict[str, Any]] = field(default_factory=list)


class ExecVariable(Secretive, frozen=True, kw_only=True):
    """An environment variable for a credential plugin."""

    __secrets__ = frozenset({"value"})

    name: str = ""
    value: str = ""


class Exec(Secretive, frozen=True, kw_only=True, rename="camel"):
    """A program that is asked for credentials."""

    __secrets__ = frozenset({"args"})  # people put passwords there

    command: str = ""
    args: list[str] = field(default_factory=list)
    env: list[ExecVariable] = field(default_factory=list)
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: InteractiveMode | Literal[""] = ""


class User(Secretive, frozen=True, kw_only=True, rename="kebab"):
    """How to say who we are."""

    __secrets__ = frozenset({"client_key_data", "token", "password", "auth_provider"})

    client_certificate: str = ""
    client_certificate_data: bytes = b""
    client_key: str = ""
    client_key_data: bytes = b""
    token: str = ""
    token_file: str = field(default="", name="tokenFile")
    as_: str = field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = field(default_factory=list)
    as_user_extra: dict[str, list[str]] = field(default_factory=dict)
    username: str = ""
    password: str = ""
    auth_provider: dict[str, Any] | None = None
    exec: Exec | None = None
    extensions: list[dict[str, Any]] = field(default_factory=list)


class Context(Secretive, frozen=True, kw_only=True, rename="kebab"):
    """A user at a cluster, and the namespace to start with."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""
    extensions: list[dict[str, Any]] = field(default_factory=list)


class _NamedCluster(Struct):
    name: str
    cluster: Cluster = field(default_factory=Cluster)


class _NamedUser(Struct):
    name: str
    user: User = field(default_factory=User)


class _NamedContext(Struct):
    name: str
    context: Context = field(default_factory=Context)


class _File(Struct, rename="kebab", kw_only=True):
    """What a kubeconfig file says, as it says it."""

    api_version: str = field(default="v1", name="apiVersion")
    kind: str = "Config"
    current_context: str = ""
    clusters: list[_NamedCluster] = field(default_factory=list)
    users: list[_NamedUser] = field(default_factory=list)
    contexts: list[_NamedContext] = field(default_factory=list)


class Kubeconfig(Struct, kw_only=True):
    """One or several kubeconfig files, merged. File names inside are absolute."""

    clusters: dict[str, Cluster] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    contexts: dict[str, Context] = field(default_factory=dict)
    current_context: str = ""
    files: tuple[str, ...] = ()  # the files that were read
    origins: dict[tuple[EntryKind, str], str] = field(default_factory=dict)  # which file an entry is from

    @classmethod
    def load(cls, paths: Iterable[str | os.PathLike[str]]) -> Kubeconfig:
        """Read and merge files; those that do not exist are skipped, as kubectl does."""
        merged = cls()
        for path in dict.fromkeys(os.fspath(path) for path in paths):
            if path and (text := _read(Path(path))) is not None:
                merged.merge(cls.parse(text, origin=path))
        return merged

    @classmethod
    def parse(cls, text: str | bytes, *, origin: str = "") -> Kubeconfig:
        """Read the text of a kubeconfig. `origin` is its file: relative names are resolved from there."""
        return cls.from_dict(_first_document(text, origin), origin=origin)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, origin: str = "") -> Kubeconfig:
        """A kubeconfig that is already decoded."""
        file = _decoded(document, origin)
        folder = Path(origin).absolute().parent if origin else Path.cwd()
        config = cls(current_context=file.current_context, files=(origin,) if origin else ())
        for cluster in file.clusters:
            config._add("cluster", config.clusters, cluster.name, _rooted_cluster(cluster.cluster, folder), origin)
        for user in file.users:
            config._add("user", config.users, user.name, _rooted_user(user.user, folder), origin)
        for context in file.contexts:
            config._add("context", config.contexts, context.name, context.context, origin)
        return config

    @classmethod
    def of(cls, cluster: str, user: str, where: Cluster, who: User) -> Kubeconfig:
        """One user at one cluster, in a context with the name that kubeadm gives it."""
        context = f"{user}@{cluster}"
        return cls(
            clusters={cluster: where},
            users={user: who},
            contexts={context: Context(cluster=cluster, user=user)},
            current_context=context,
        )

    def merge(self, other: Kubeconfig) -> None:
        """Add what `other` has and this one has not."""
        self.clusters = other.clusters | self.clusters
        self.users = other.users | self.users
        self.contexts = other.contexts | self.contexts
        self.current_context = self.current_context or other.current_context
        self.files = (*self.files, *other.files)
        self.origins = other.origins | self.origins

    @property
    def empty(self) -> bool:
        return not (self.clusters or self.users or self.contexts)

    def where(self, kind: EntryKind, name: str) -> str:
        """Names an entry in an error: `kubeconfig /home/me/.kube/config: user "admin"`."""
        return f'{_place(self.origins.get((kind, name), ""))}: {kind} "{name}"'

    def to_dict(self) -> dict[str, Any]:
        """The content of a kubeconfig file. It holds the secrets."""
        file = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster} for name, cluster in self.clusters.items()],
            "users": [{"name": name, "user": user} for name, user in self.users.items()],
            "contexts": [{"name": name, "context": context} for name, context in self.contexts.items()],
            "current-context": self.current_context,
        }
        document: dict[str, Any] = to_builtins(file)
        return document

    def to_yaml(self) -> str:
        """The text of a kubeconfig file: write it where only its owner can read it."""
        return to_yaml(self.to_dict())

    def _add(self, kind: EntryKind, entries: dict[str, S], name: str, entry: S, origin: str) -> None:
        if name in entries:
            raise ConfigError(f'{_place(origin)}: there are two {kind}s named "{name}"; remove or rename one')
        entries[name] = entry
        self.origins[kind, name] = origin


def without_password(url: str) -> str:
    """A URL as it may be shown: whoever it names, but not their password."""
    parts = urlsplit(url)
    if not parts.password:
        return url
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{parts.username}:<hidden>@{host}").geturl()


def _rooted_cluster(cluster: Cluster, folder: Path) -> Cluster:
    return replace(cluster, certificate_authority=_absolute(cluster.certificate_authority, folder))


def _rooted_user(user: User, folder: Path) -> User:
    plugin = user.exec
    if plugin is not None and os.sep in plugin.command:  # a bare name is looked for in PATH
        plugin = replace(plugin, command=_absolute(plugin.command, folder))
    return replace(
        user,
        client_certificate=_absolute(user.client_certificate, folder),
        client_key=_absolute(user.client_key, folder),
        token_file=_absolute(user.token_file, folder),
        exec=plugin,
    )


def _absolute(path: str, folder: Path) -> str:
    if not path or os.path.isabs(path):
        return path
    return os.path.normpath(folder / path)


def _place(origin: str) -> str:
    return f"kubeconfig {origin}" if origin else "kubeconfig"


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{_place(str(path))} cannot be read: {error.strerror}") from error


def _first_document(text: str | bytes, origin: str) -> dict[str, Any]:
    try:
        return next(load_yaml(text), {})
    except ValueError as error:
        raise ConfigError(f"{_place(origin)}: {_yaml_problem(error)}") from None


def _yaml_problem(error: ValueError) -> str:
    """Where the YAML is wrong, without the line itself: there may be a token in it."""
    mark = getattr(error.__cause__, "problem_mark", None)
    if mark is not None:
        problem = getattr(error.__cause__, "problem", None) or "syntax error"
        return f"line {mark.line + 1}, column {mark.column + 1}: not valid YAML: {problem}"
    return "not valid YAML" if error.__cause__ is not None else str(error)


def _decoded(document: Mapping[str, Any], origin: str) -> _File:
    try:
        file = convert(document, _File)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{_place(origin)}: {_named_path(str(error), document)}") from None
    if (file.api_version, file.kind) != ("v1", "Config"):
        found = f"{file.api_version} {file.kind}"
        raise ConfigError(f'{_place(origin)}: expected apiVersion "v1" and kind "Config", found {found}')
    return file


def _named_path(message: str, document: Mapping[str, Any]) -> str:
    """msgspec says `- at $.users[0].user.token`; people know the user's name better than its number."""
    text, _, path = message.partition(" - at `$")
    section, bracket, rest = path.strip("`").lstrip(".").partition("[")
    if not bracket:
        return f"{section}: {text}" if section else text
    number, _, inner = rest.partition("]")
    try:
        name = document[section][int(number)]["name"]
    except (KeyError, IndexError, TypeError, ValueError):
        return f"{section}[{number}]{inner}: {text}"
    return f'{section.removesuffix("s")} "{name}": {inner.lstrip(".").partition(".")[2] or inner.lstrip(".")}: {text}'
