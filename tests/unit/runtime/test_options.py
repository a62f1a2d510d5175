"""Flags and variables of a manager: kubebuilder's."""

from __future__ import annotations

import logging
from argparse import ArgumentParser

import pytest

from kapstan.runtime.manager import Manager
from kapstan.runtime.options import parse


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WATCH_NAMESPACE", "ENABLE_WEBHOOKS"):
        monkeypatch.delenv(name, raising=False)


def test_the_defaults_are_kubebuilders() -> None:
    options = parse([])
    assert (options.metrics_bind_address, options.health_probe_bind_address) == ("0", ":8081")
    assert (options.leader_election, options.metrics_secure, options.webhooks) == (False, True, True)
    assert options.webhook_port == 9443
    assert options.namespaces == ()


def test_the_flags_that_the_scaffold_passes() -> None:
    options = parse(
        [
            "--leader-elect",
            "--health-probe-bind-address=:8082",
            "--metrics-bind-address=:8443",
            "--metrics-secure=false",
            "--metrics-cert-path=/certs",
            "--webhook-cert-path=/tmp/hooks",
            "--webhook-cert-name=a.crt",
            "--enable-http2=false",
        ],
        leader_election_id="x.example.com",
    )
    assert options.leader_election and options.leader_election_id == "x.example.com"
    assert (options.metrics_bind_address, options.metrics_secure) == (":8443", False)
    assert [str(file) for file in options.webhook_certificate.files] == ["/tmp/hooks/a.crt", "/tmp/hooks/tls.key"]
    assert options.metrics_certificate.folder == "/certs"


def test_switches_are_written_as_go_writes_them() -> None:
    assert parse(["--leader-elect=true"]).leader_election
    assert not parse(["--leader-elect=false"]).leader_election


def test_variables_say_where_to_watch_and_whether_to_serve_webhooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCH_NAMESPACE", "a, b,")
    monkeypatch.setenv("ENABLE_WEBHOOKS", "false")
    options = parse([])
    assert options.namespaces == ("a", "b") and not options.webhooks


@pytest.mark.parametrize(
    ("flags", "encoder", "level", "traces"),
    [
        ([], "json", logging.INFO, logging.ERROR),
        (["--zap-devel"], "console", logging.DEBUG, logging.WARNING),
        (["--zap-devel=true", "--zap-encoder=json"], "json", logging.DEBUG, logging.WARNING),
        (["--zap-log-level=debug"], "json", logging.DEBUG, logging.ERROR),
        (["--zap-log-level=5"], "json", logging.DEBUG, logging.ERROR),
        (["--zap-log-level=error", "--zap-stacktrace-level=panic"], "json", logging.ERROR, logging.CRITICAL),
    ],
)
def test_zaps_flags(flags: list[str], encoder: str, level: int, traces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    log = parse(flags).log
    assert log is not None
    assert (log.encoder, log.level, log.stacktrace_level) == (encoder, level, traces)


def test_a_program_adds_flags_of_its_own() -> None:
    parser = ArgumentParser()
    parser.add_argument("--image")
    assert parse(["--image=x", "--leader-elect"], parser).leader_election


def test_nonsense_ends_the_program_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent/kubeconfig")
    with pytest.raises(SystemExit, match=r"error: .*nonexistent"):
        Manager.from_flags([])
    with pytest.raises(SystemExit, match="error: --zap-log-level 'loud'"):
        Manager.from_flags(["--zap-log-level=loud"])
    with pytest.raises(SystemExit, match="error: the webhook port is between 0 and 65535, got 99999"):
        Manager.from_flags(["--webhook-port=99999"])
    with pytest.raises(SystemExit):
        Manager.from_flags(["--leader-elect=perhaps"])
    assert "'perhaps' is neither true nor false" in capsys.readouterr().err
