"""Credentials: read again when they change, asked for when they expire, never shown."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kapstan.client import credentials
from kapstan.client.config import Config
from kapstan.client.credentials import Credential, PluginSource, RereadFile, StoredSource, credentials_of
from kapstan.client.kubeconfig import Exec, ExecVariable
from kapstan.client.transport import Request, Transport
from kapstan.machinery import pki
from kapstan.machinery.errors import ConfigError

from .conftest import Server, status

V1 = "client.authentication.k8s.io/v1"
SECRET = "s3cr3t-value"
SOURCE = 'kubeconfig: context "main"'


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    clock = Clock()
    path = tmp_path / "token"
    path.write_text("one\n")
    file = RereadFile(str(path), "the token file", clock=clock)
    assert file.read() == b"one"
    path.write_text("two\n")
    clock.now += 59
    assert file.read() == b"one"
    clock.now += 1
    assert file.read() == b"two"


def test_while_a_file_cannot_be_read_its_last_content_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    path = tmp_path / "token"
    file = RereadFile(str(path), "the token file", clock=clock)
    with pytest.raises(ConfigError, match=f"the token file {path} cannot be read: No such file"):
        file.read()
    path.write_text(SECRET)
    assert file.read() == SECRET.encode()
    path.write_text("")
    clock.now += 61
    with caplog.at_level(logging.WARNING, "kapstan.client"):
        assert file.read() == SECRET.encode()
    assert caplog.messages == [f"the token file {path} is empty; the last one that could be read stays in use"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (Config(server="https://a"), Credential()),
        (Config(server="https://a", token="t"), Credential("Bearer t")),
        (
            Config(server="https://a", username="me", password="pw"),
            Credential("Basic " + base64.b64encode(b"me:pw").decode()),
        ),
        (Config(server="https://a", cert=b"CERT\n", key=b"KEY"), Credential("", b"CERT\nKEY\n")),
    ],
)
def test_what_the_config_holds(config: Config, expected: Credential) -> None:
    assert StoredSource(config).cached() == expected


def test_the_tokens_file_wins_over_the_token(tmp_path: Path) -> None:
    source = StoredSource(Config(server="https://a", token="literal", token_file=str(tmp_path / "token")))
    assert source.cached().authorization == "Bearer literal"
    (tmp_path / "token").write_text("from-file")
    assert source.cached().authorization == "Bearer from-file"


def test_a_credential_does_not_show_itself() -> None:
    assert SECRET not in repr(Credential(f"Bearer {SECRET}", SECRET.encode()))


# The plugin writes down what it was asked, and answers what the file says.
PLUGIN = """
import json, os, pathlib, sys
folder = pathlib.Path(sys.argv[1])
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
asked = {"info": info, "extra": os.environ.get("EXTRA"), "stdin": sys.stdin.read()}
with (folder / "asked").open("a") as log:
    log.write(json.dumps(asked) + "\\n")
answer = (folder / "answer").read_text()
sys.exit(int(answer)) if answer.isdecimal() else print(answer)
"""


class Plugin:
    """A real program, asked as kubectl asks its plugins."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "plugin.py").write_text(PLUGIN)

    def exec(self, **changes: Any) -> Exec:
        values: dict[str, Any] = {
            "command": sys.executable,
            "args": [str(self.folder / "plugin.py"), str(self.folder)],
            "api_version": V1,
            "interactive_mode": "Never",
        }
        return Exec(**{**values, **changes})

    def config(self, **changes: Any) -> Config:
        return Config(server="https://10.0.0.1:6443", source=SOURCE, exec=self.exec(**changes))

    def source(self, **changes: Any) -> PluginSource:
        source = credentials_of(self.config(**changes))
        assert isinstance(source, PluginSource)
        return source

    def answer(self, status: dict[str, Any] | None, version: str = V1) -> None:
        self.say(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))

    def say(self, text: str) -> None:
        (self.folder / "answer").write_text(text)

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "asked").read_text().splitlines()]


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


async def test_a_plugin_is_asked_once_until_its_answer_expires(plugin: Plugin) -> None:
    source = plugin.source(env=[ExecVariable(name="EXTRA", value="more")])
    plugin.answer({"token": "one", "expirationTimestamp": (datetime.now(UTC) + timedelta(hours=1)).isoformat()})
    assert source.cached() is None
    first, second = await asyncio.gather(source.renew(), source.renew())
    assert first == second == source.cached() == Credential("Bearer one")
    assert plugin.asked == [
        {
            "info": {"apiVersion": V1, "kind": "ExecCredential", "spec": {"interactive": False}},
            "extra": "more",
            "stdin": "",
        }
    ]
    source._expires = datetime.now(UTC)
    plugin.answer({"token": "two"})
    assert source.cached() is None
    assert await source.renew() == Credential("Bearer two")


async def test_a_refused_credential_is_asked_for_anew(plugin: Plugin) -> None:
    source = plugin.source()
    plugin.answer({"token": "one"})
    first = await source.renew()
    plugin.answer({"token": "two"})
    second, third = await asyncio.gather(source.renew(first), source.renew(first))
    assert second == third == Credential("Bearer two")
    assert len(plugin.asked) == 2


async def test_a_plugin_is_told_about_the_cluster_if_it_wants(plugin: Plugin, tmp_path: Path) -> None:
    (tmp_path / "ca").write_bytes(b"PEM\n")
    config = plugin.config(provide_cluster_info=True).replace(
        ca_file=str(tmp_path / "ca"), server_name="kube", exec_config={"audience": "x"}
    )
    plugin.answer({"token": "one"})
    await credentials_of(config).renew()
    assert plugin.asked[0]["info"]["spec"]["cluster"] == {
        "server": "https://10.0.0.1:6443",
        "tls-server-name": "kube",
        "certificate-authority-data": base64.b64encode(b"PEM").decode(),
        "config": {"audience": "x"},
    }


async def test_a_plugin_may_give_a_certificate(plugin: Plugin) -> None:
    plugin.answer({"clientCertificateData": "CERT\n", "clientKeyData": "KEY"})
    assert await plugin.source().renew() == Credential("", b"CERT\nKEY\n")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("3", "failed with exit code 3; run it by hand to see why"),
        (SECRET, "printed something else than JSON"),
        (
            f'{{"apiVersion": "{V1}", "status": {{"token": ["{SECRET}"]}}}}',
            "printed something else than an ExecCredential: Expected `str`, got `array` - at `$.status.token`",
        ),
        (f'{{"apiVersion": "{V1}"}}', "gave neither a token nor a client certificate"),
        (f'{{"apiVersion": "{V1}", "status": {{}}}}', "gave neither a token nor a client certificate"),
        (
            f'{{"apiVersion": "{V1}", "status": {{"clientKeyData": "{SECRET}"}}}}',
            "gave a client certificate without its key, or a key without its certificate",
        ),
        (
            f'{{"apiVersion": "{V1}beta1", "status": {{"token": "{SECRET}"}}}}',
            f'answered in "{V1}beta1", but apiVersion says "{V1}"',
        ),
    ],
)
async def test_plugins_that_fail(plugin: Plugin, answer: str, why: str) -> None:
    plugin.say(answer)
    with pytest.raises(ConfigError) as caught:
        await plugin.source().renew()
    assert str(caught.value) == f"{SOURCE}: the credential plugin {sys.executable} {why}"


async def test_a_plugin_that_is_not_there(plugin: Plugin) -> None:
    with pytest.raises(ConfigError) as caught:
        await plugin.source(command="no-such-plugin", install_hint="\x1b[1mapt install it").renew()
    why = "the credential plugin no-such-plugin cannot be started: No such file or directory\n[1mapt install it"
    assert str(caught.value) == f"{SOURCE}: {why}"


async def test_a_plugin_that_needs_a_terminal(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ConfigError, match="needs a terminal"):
        await plugin.source(interactive_mode="Always").renew()
    plugin.answer({"token": "x"})
    assert await plugin.source(interactive_mode="IfAvailable").renew() == Credential("Bearer x")


async def test_a_plugin_that_hangs_is_ended(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "PLUGIN_SECONDS", 0.1)
    with pytest.raises(ConfigError, match="gave no answer within 0 s"):
        await plugin.source(args=["-c", "import time; time.sleep(60)"]).renew()


def test_a_plugin_is_not_asked_if_there_is_something_else(plugin: Plugin) -> None:
    assert isinstance(credentials_of(plugin.config().replace(token="t")), StoredSource)
    assert isinstance(credentials_of(plugin.config().replace(cert=b"c", key=b"k")), StoredSource)


async def test_a_request_is_repeated_with_what_the_plugin_gives_next(
    server: Server, plugin: Plugin, transport_to: Callable[..., Transport]
) -> None:
    await server.start()

    async def picky(request: web.Request) -> web.StreamResponse:
        if request.headers["authorization"] == "Bearer two":
            return await server.ok(request)
        plugin.answer({"token": "two"})
        return await status(401, "Unauthorized")(request)

    server.handler = picky
    plugin.answer({"token": "one"})
    transport = transport_to(server.config(exec=plugin.exec()))
    assert (await transport.send(Request(method="POST", path="/", body=b"{}"))).status == 200
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer one", "Bearer two"]


async def test_a_plugins_certificate_is_presented(
    server: Server, plugin: Plugin, transport_to: Callable[..., Transport]
) -> None:
    await server.start(client_ca=server.ca.cert_pem, require=True)
    pair: pki.KeyPair = server.ca.issue("from-plugin")
    plugin.answer({"clientCertificateData": pair.cert_pem.decode(), "clientKeyData": pair.key_pem.decode()})
    transport = transport_to(server.config(exec=plugin.exec()))
    assert (await transport.send(Request(method="GET", path="/"))).status == 200
