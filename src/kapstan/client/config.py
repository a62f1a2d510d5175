"""Config: which API server to talk to, how to know it, and as whom.

Looked for as controller-runtime does: a path that is given, the files in `KUBECONFIG`, the service account of the pod
that we run in, `~/.kube/config`. What is wrong with any of them is said with the file, the entry and the field.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from kapstan.client.kubeconfig import Cluster, Exec, Kubeconfig, Secretive, User, without_password
from kapstan.machinery.errors import ConfigError

__all__ = ("SERVICE_ACCOUNT", "Config", "Impersonation")

# Where a pod finds the credentials of its service account.
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
_REQUEST_SECONDS = 65  # an API server gives up a request after 60 s and says so


class Impersonation(Struct, frozen=True, kw_only=True):
    """As whom to act; the API server checks that we may."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Config(Secretive, frozen=True, kw_only=True):
    """How to reach one API server. What is a file is read again when it changes."""

    __secrets__ = frozenset({"key", "token", "password"})

    server: str
    namespace: str = "default"
    source: str = ""  # where this was found, for errors

    ca: bytes = b""
    ca_file: str = ""
    server_name: str = ""
    insecure: bool = False
    proxy_url: str = ""
    compression: bool = True

    cert: bytes = b""
    cert_file: str = ""
    key: bytes = b""
    key_file: str = ""
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    exec: Exec | None = None
    exec_config: Any = None  # what the cluster's entry holds for the plugin
    impersonate: Impersonation | None = None

    user_agent: str = ""
    timeout: float = _REQUEST_SECONDS  # seconds that one request may take; watches are not limited
    qps: float = 0.0  # requests a second that we allow ourselves; 0: as many as the server takes
    burst: int = 10

    @classmethod
    def load(cls, path: str | os.PathLike[str] = "", *, context: str = "") -> Config:
        """What kubectl and controller-runtime would use; ConfigError says what was looked for where."""
        if path:
            return cls._explicit(Path(path).expanduser(), context)
        if listed := os.environ.get("KUBECONFIG", ""):
            kubeconfig = Kubeconfig.load(listed.split(os.pathsep))
            if not kubeconfig.empty:
                return cls.from_kubeconfig(kubeconfig, context=context)
            if _in_cluster():
                return cls.in_cluster()
            raise ConfigError(f"KUBECONFIG names {listed}, but no such file exists or has anything in it")
        if _in_cluster():
            return cls.in_cluster()
        return cls._home(context)

    @classmethod
    def from_kubeconfig(cls, source: Kubeconfig | Mapping[str, Any] | str | bytes, *, context: str = "") -> Config:
        """The config of one context: the one asked for, or the current one."""
        if isinstance(source, str | bytes):
            source = Kubeconfig.parse(source)
        elif isinstance(source, Mapping):
            source = Kubeconfig.from_dict(source)
        return _resolve(source, context)

    @classmethod
    def in_cluster(cls, folder: Path | None = None) -> Config:
        """The service account of the pod that we run in."""
        folder = folder or SERVICE_ACCOUNT
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "")
        if not host or not port:
            raise ConfigError(
                "this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; name a kubeconfig"
            )
        for name in ("token", "ca.crt"):
            _check_readable(str(folder / name), "in-cluster config", "the service account's file")
        return cls(
            server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
            source="in-cluster config",
            namespace=_pod_namespace(folder),
            ca_file=str(folder / "ca.crt"),
            token_file=str(folder / "token"),
        )

    @classmethod
    def _explicit(cls, path: Path, context: str) -> Config:
        kubeconfig = Kubeconfig.load([path])
        if not kubeconfig.files:
            raise ConfigError(f"kubeconfig {path} does not exist")
        return cls.from_kubeconfig(kubeconfig, context=context)

    @classmethod
    def _home(cls, context: str) -> Config:
        path = Path.home() / ".kube" / "config"
        kubeconfig = Kubeconfig.load([path])
        if kubeconfig.empty:
            raise ConfigError(
                "no cluster is configured: KUBECONFIG is not set, this is not a pod, and "
                f"{path} {'is empty' if kubeconfig.files else 'does not exist'}; name a kubeconfig with KUBECONFIG"
            )
        return cls.from_kubeconfig(kubeconfig, context=context)

    def anonymous(self) -> Config:
        """The same server, but without saying who we are."""
        return Config(
            server=self.server,
            namespace=self.namespace,
            source=self.source,
            ca=self.ca,
            ca_file=self.ca_file,
            server_name=self.server_name,
            insecure=self.insecure,
            proxy_url=self.proxy_url,
            compression=self.compression,
            user_agent=self.user_agent,
            timeout=self.timeout,
        )

    def replace(self, **changes: Any) -> Config:
        """A copy with these fields changed."""
        return replace(self, **changes)


def _in_cluster() -> bool:
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and (SERVICE_ACCOUNT / "token").is_file()


def _pod_namespace(folder: Path) -> str:
    if namespace := os.environ.get("POD_NAMESPACE", ""):
        return namespace
    try:
        return (folder / "namespace").read_text().strip() or "default"
    except OSError:
        return "default"


def _resolve(kubeconfig: Kubeconfig, context_name: str) -> Config:
    name = context_name or kubeconfig.current_context
    context = kubeconfig.contexts.get(name)
    if context is None:
        raise ConfigError(_no_context(kubeconfig, name))
    where = kubeconfig.where("context", name)
    if context.cluster not in kubeconfig.clusters:
        raise ConfigError(f"{where}: {_missing('cluster', context.cluster, kubeconfig.clusters)}")
    if context.user and context.user not in kubeconfig.users:
        raise ConfigError(f"{where}: {_missing('user', context.user, kubeconfig.users)}")
    cluster = kubeconfig.clusters[context.cluster]
    _check_cluster(cluster, kubeconfig.where("cluster", context.cluster))
    config = Config(
        server=cluster.server.rstrip("/"),
        namespace=context.namespace or "default",
        source=where,
        ca=cluster.certificate_authority_data,
        ca_file=cluster.certificate_authority,
        server_name=cluster.tls_server_name,
        insecure=cluster.insecure_skip_tls_verify,
        proxy_url=cluster.proxy_url,
        compression=not cluster.disable_compression,
    )
    if not context.user:
        return config
    return _as_user(config, kubeconfig.users[context.user], cluster, kubeconfig.where("user", context.user))


def _as_user(config: Config, user: User, cluster: Cluster, where: str) -> Config:
    _check_user(user, where)
    impersonate = None
    if user.as_:
        extra = {key: tuple(values) for key, values in user.as_user_extra.items()}
        impersonate = Impersonation(user=user.as_, uid=user.as_uid, groups=tuple(user.as_groups), extra=extra)
    if not config.server.startswith("https:"):  # credentials never travel in the clear
        return config.replace(impersonate=impersonate)
    return config.replace(
        cert=user.client_certificate_data,
        cert_file=user.client_certificate,
        key=user.client_key_data,
        key_file=user.client_key,
        token=user.token,
        token_file=user.token_file,
        username=user.username,
        password=user.password,
        exec=_checked_exec(user.exec, where) if user.exec is not None else None,
        exec_config=_extension(cluster),
        impersonate=impersonate,
    )


def _extension(cluster: Cluster) -> Any:
    named = (each.get("extension") for each in cluster.extensions if each.get("name") == _EXEC_EXTENSION)
    return next(named, None)


def _no_context(kubeconfig: Kubeconfig, name: str) -> str:
    where = "kubeconfig " + " and ".join(kubeconfig.files) if kubeconfig.files else "kubeconfig"
    names = ", ".join(kubeconfig.contexts) or "none"
    if not name:
        return f"{where}: current-context is not set; set it, or choose a context: there are {names}"
    return f'{where}: there is no context "{name}"; there are: {names}'


def _missing(kind: str, name: str, there: Mapping[str, object]) -> str:
    if not name:
        return f"it names no {kind}"
    return f'its {kind} "{name}" does not exist; there are: {", ".join(there) or "none"}'


def _check_cluster(cluster: Cluster, where: str) -> None:
    if not cluster.server:
        raise ConfigError(f"{where}: server is missing: the URL of the API server, such as https://10.0.0.1:6443")
    _check_url(cluster.server, ("https", "http"), f"{where}: server")
    if cluster.proxy_url:
        _check_url(cluster.proxy_url, _PROXY_SCHEMES, f"{where}: proxy-url")
    if cluster.certificate_authority and cluster.certificate_authority_data:
        raise ConfigError(f"{where}: certificate-authority and certificate-authority-data are both set; remove one")
    if cluster.insecure_skip_tls_verify and (cluster.certificate_authority or cluster.certificate_authority_data):
        raise ConfigError(f"{where}: insecure-skip-tls-verify is set, so certificate-authority has no use; remove one")
    _check_pem(cluster.certificate_authority_data, "CERTIFICATE", f"{where}: certificate-authority-data")
    _check_readable(cluster.certificate_authority, where, "certificate-authority")


def _check_user(user: User, where: str) -> None:
    if user.auth_provider is not None:
        name = user.auth_provider.get("name", "")
        raise ConfigError(f'{where}: auth-provider "{name}" is not supported; use an exec credential plugin instead')
    if user.token and (user.username or user.password):
        raise ConfigError(f"{where}: token and username are both set; only one way to authenticate is allowed")
    if (user.as_uid or user.as_groups or user.as_user_extra) and not user.as_:
        raise ConfigError(f'{where}: as-uid, as-groups and as-user-extra need "as", the user to impersonate')
    _check_client_certificate(user, where)
    _check_readable(user.token_file, where, "tokenFile")


def _check_client_certificate(user: User, where: str) -> None:
    for name, file, data in (
        ("client-certificate", user.client_certificate, user.client_certificate_data),
        ("client-key", user.client_key, user.client_key_data),
    ):
        if file and data:
            raise ConfigError(f"{where}: {name} and {name}-data are both set; remove one")
        _check_readable(file, where, name)
    has_cert = bool(user.client_certificate or user.client_certificate_data)
    has_key = bool(user.client_key or user.client_key_data)
    if has_cert != has_key:
        there, missing = ("client-certificate", "client-key") if has_cert else ("client-key", "client-certificate")
        raise ConfigError(f"{where}: {there} is set, but {missing} is not; a client certificate needs both")
    _check_pem(user.client_certificate_data, "CERTIFICATE", f"{where}: client-certificate-data")
    _check_pem(user.client_key_data, "PRIVATE KEY", f"{where}: client-key-data")


def _checked_exec(plugin: Exec, where: str) -> Exec:
    if not plugin.command:
        raise ConfigError(f"{where}: exec: command is missing: the program to ask for credentials")
    if plugin.api_version not in _EXEC_VERSIONS:
        known = " or ".join(_EXEC_VERSIONS)
        raise ConfigError(f'{where}: exec: apiVersion "{plugin.api_version}" is not supported; it can be {known}')
    if any(not variable.name for variable in plugin.env):
        raise ConfigError(f"{where}: exec: an env entry has no name")
    if not plugin.interactive_mode:
        if plugin.api_version == _EXEC_VERSIONS[0]:
            raise ConfigError(f"{where}: exec: interactiveMode is missing; it can be Never, IfAvailable or Always")
        return replace(plugin, interactive_mode="IfAvailable")
    return plugin


def _check_url(url: str, schemes: tuple[str, ...], where: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f'{where}: "{without_password(url)}" is not a URL that starts with {_either(schemes)}')


def _either(schemes: tuple[str, ...]) -> str:
    return " or ".join(f"{scheme}://" for scheme in schemes)


def _check_pem(data: bytes, label: str, where: str) -> None:
    if data and (b"-----BEGIN " not in data or f"{label}-----".encode() not in data):
        raise ConfigError(f"{where}: not PEM: expected -----BEGIN {label}----- once it is decoded from base64")


def _check_readable(path: str, where: str, name: str) -> None:
    if not path:
        return
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise ConfigError(f"{where}: {name} {path} cannot be read: {error.strerror}") from None
