"""Kubeconfig files: merged by kubectl's rules, wrong ones named precisely, secrets never shown."""

from __future__ import annotations

import base64
import string
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kapstan.client.kubeconfig import Cluster, Context, Exec, ExecVariable, Kubeconfig, User, without_password
from kapstan.machinery.errors import ConfigError

SECRET = "s3cr3t-value"


def document(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "prod", "cluster": {"server": "https://10.0.0.1:6443"}}],
        "users": [{"name": "admin", "user": {"token": SECRET}}],
        "contexts": [{"name": "main", "context": {"cluster": "prod", "user": "admin"}}],
        "current-context": "main",
    }
    return {**base, **changes}


def write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


def test_first_file_wins_for_entries_and_for_the_current_context(tmp_path: Path) -> None:
    first = write(tmp_path / "one", document(users=[{"name": "admin", "user": {"username": "one"}}]))
    second = write(
        tmp_path / "two",
        document(
            **{
                "users": [{"name": "admin", "user": {"password": SECRET}}, {"name": "dev", "user": {"token": "t"}}],
                "current-context": "other",
            }
        ),
    )
    merged = Kubeconfig.load([first, second])
    assert merged.current_context == "main"
    assert merged.users == {"admin": User(username="one"), "dev": User(token="t")}
    assert merged.files == (str(first), str(second))
    assert merged.where("user", "dev") == f'kubeconfig {second}: user "dev"'


def test_a_later_file_gives_the_current_context_if_the_first_has_none(tmp_path: Path) -> None:
    first = write(tmp_path / "one", document(**{"current-context": ""}))
    second = write(tmp_path / "two", document(**{"current-context": "second"}))
    assert Kubeconfig.load([first, second]).current_context == "second"


def test_missing_empty_and_repeated_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    there = write(tmp_path / "there", document())
    merged = Kubeconfig.load(["", tmp_path / "missing", tmp_path / "empty", there, there])
    assert merged.contexts == {"main": Context(cluster="prod", user="admin")}
    assert merged.files == (str(tmp_path / "empty"), str(there))


def test_relative_files_are_relative_to_the_kubeconfigs_folder(tmp_path: Path) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    cluster = {"server": "https://a", "certificate-authority": "pki/ca.crt"}
    user = {
        "client-certificate": "c.pem",
        "client-key": "/abs/k.pem",
        "tokenFile": "../token",
        "exec": {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1"},
    }
    path = write(
        folder / "config",
        document(clusters=[{"name": "c", "cluster": cluster}], users=[{"name": "u", "user": user}]),
    )
    config = Kubeconfig.load([path])
    assert config.clusters["c"].certificate_authority == str(folder / "pki/ca.crt")
    assert config.users["u"].client_certificate == str(folder / "c.pem")
    assert config.users["u"].client_key == "/abs/k.pem"
    assert config.users["u"].token_file == str(tmp_path / "token")
    plugin = config.users["u"].exec
    assert plugin is not None
    assert plugin.command == str(folder / "plugin")


def test_a_bare_command_is_left_to_path() -> None:
    plugin = {"command": "aws", "args": None, "env": None, "apiVersion": "client.authentication.k8s.io/v1beta1"}
    config = Kubeconfig.from_dict(document(users=[{"name": "u", "user": {"exec": plugin}}]))
    assert config.users["u"].exec == Exec(command="aws", api_version="client.authentication.k8s.io/v1beta1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "kubeconfig /k: line 2, column 1: not valid YAML: did not find expected node content"),
        ("- 1", "kubeconfig /k: expected an object, found list"),
        ("kind: Pod", 'kubeconfig /k: expected apiVersion "v1" and kind "Config", found v1 Pod'),
        ("users: 3", "kubeconfig /k: users: Expected `array`, got `int`"),
        (
            "users: [{name: me, user: {token: 12}}]",
            'kubeconfig /k: user "me": token: Expected `str`, got `int`',
        ),
        (
            "users: [{name: me, user: {client-key-data: '%%'}}]",
            'kubeconfig /k: user "me": client-key-data: Invalid base64 encoded string',
        ),
        ("users: [{user: {}}]", "kubeconfig /k: users[0]: Object missing required field `name`"),
        (
            "users: [{name: me, user: {exec: {interactiveMode: Maybe}}}]",
            "kubeconfig /k: user \"me\": exec.interactiveMode: Invalid enum value 'Maybe'",
        ),
        (
            "clusters: [{name: a}, {name: a}]",
            'kubeconfig /k: there are two clusters named "a"; remove or rename one',
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Kubeconfig.parse(text, origin="/k")
    assert str(caught.value) == message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"kubeconfig {tmp_path} cannot be read: Is a directory"):
        Kubeconfig.load([tmp_path])


def test_a_syntax_error_does_not_quote_the_line() -> None:
    text = f"users:\n- name: me\n  user: {{token: {SECRET}: {{"
    with pytest.raises(ConfigError) as caught:
        Kubeconfig.parse(text)
    assert SECRET not in str(caught.value)
    assert "line 3" in str(caught.value)


def test_secrets_do_not_show() -> None:
    user = User(
        token=SECRET,
        password=SECRET,
        client_key_data=SECRET.encode(),
        auth_provider={"id-token": SECRET},
        exec=Exec(command="x", args=["--password", SECRET], env=[ExecVariable(name="PASSWORD", value=SECRET)]),
    )
    cluster = Cluster(server="https://a", proxy_url=f"http://me:{SECRET}@proxy:3128")
    config = Kubeconfig(users={"me": user}, clusters={"c": cluster})
    assert SECRET not in repr(config)
    assert "token=<hidden>" in repr(user)
    assert "server='https://a'" in repr(cluster)
    assert without_password(cluster.proxy_url) == "http://me:<hidden>@proxy:3128"


names = st.text(string.ascii_letters + string.digits + "-./@:", min_size=1, max_size=12)
texts = st.text(min_size=0, max_size=20)
absolute = st.one_of(st.just(""), names.map(lambda name: f"/etc/{name}"))
plugins = st.builds(
    Exec,
    command=names.filter(lambda name: "/" not in name),
    args=st.lists(texts, max_size=3),
    env=st.lists(st.builds(ExecVariable, name=names, value=texts), max_size=2),
    api_version=st.just("client.authentication.k8s.io/v1"),
    provide_cluster_info=st.booleans(),
    interactive_mode=st.sampled_from(["Never", "IfAvailable", "Always"]),
)
users = st.builds(
    User,
    client_certificate=absolute,
    client_certificate_data=st.binary(max_size=30),
    client_key_data=st.binary(max_size=30),
    token=texts,
    token_file=absolute,
    as_=texts,
    as_groups=st.lists(texts, max_size=3),
    as_user_extra=st.dictionaries(names, st.lists(texts, max_size=2), max_size=2),
    username=texts,
    password=texts,
    exec=st.none() | plugins,
)
clusters = st.builds(
    Cluster,
    server=texts,
    tls_server_name=texts,
    insecure_skip_tls_verify=st.booleans(),
    certificate_authority=absolute,
    certificate_authority_data=st.binary(max_size=30),
    disable_compression=st.booleans(),
)
contexts = st.builds(Context, cluster=texts, user=texts, namespace=texts)
kubeconfigs = st.builds(
    Kubeconfig,
    clusters=st.dictionaries(names, clusters, max_size=3),
    users=st.dictionaries(names, users, max_size=3),
    contexts=st.dictionaries(names, contexts, max_size=3),
    current_context=texts,
)


@given(kubeconfigs)
def test_written_and_read_again_nothing_is_lost(config: Kubeconfig) -> None:
    again = Kubeconfig.parse(config.to_yaml())
    assert (again.clusters, again.users, again.contexts) == (config.clusters, config.users, config.contexts)
    assert again.current_context == config.current_context


@given(st.lists(kubeconfigs, min_size=1, max_size=4))
def test_merging_takes_each_entry_whole_from_the_first_that_has_it(configs: list[Kubeconfig]) -> None:
    merged = Kubeconfig()
    for config in configs:
        merged.merge(config)
    for name, user in merged.users.items():
        assert user == next(config.users[name] for config in configs if name in config.users)
    assert set(merged.clusters) == {name for config in configs for name in config.clusters}
    assert merged.current_context == next((c.current_context for c in configs if c.current_context), "")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | texts,
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["users", "clusters", "contexts", "user", "cluster", "name", "exec", "token", "kind"]),
                inner,
            )
        ),
    )
)
def test_any_document_is_a_kubeconfig_or_a_config_error(content: Any) -> None:
    """Bad input never ends in a traceback."""
    with suppress(ConfigError):
        Kubeconfig.parse(yaml.safe_dump(content))


def test_base64_data_is_decoded() -> None:
    ca = base64.b64encode(b"PEM").decode()
    config = Kubeconfig.from_dict(document(clusters=[{"name": "c", "cluster": {"certificate-authority-data": ca}}]))
    assert config.clusters["c"].certificate_authority_data == b"PEM"


def test_one_of_one_user_says_what_a_file_says() -> None:
    where = Cluster(server="https://127.0.0.1:6443", certificate_authority_data=b"authority")
    config = Kubeconfig.of("kubernetes", "admin", where, User(client_certificate_data=b"mine", client_key_data=b"key"))

    file = config.to_dict()

    assert file["current-context"] == "admin@kubernetes"
    assert file["contexts"] == [{"name": "admin@kubernetes", "context": {"cluster": "kubernetes", "user": "admin"}}]
    assert file["clusters"][0]["cluster"]["certificate-authority-data"] == base64.b64encode(b"authority").decode()
    assert set(file["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}
    assert yaml.safe_load(config.to_yaml()) == file
    again = Kubeconfig.from_dict(file)
    assert (again.clusters, again.users, again.contexts) == (config.clusters, config.users, config.contexts)
