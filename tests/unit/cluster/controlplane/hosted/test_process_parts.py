"""The parts of the Process runtime that need no process."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapstan.cluster.controlplane.hosted.runtime.folder import Folder, Record
from kapstan.cluster.controlplane.hosted.runtime.interface import ComponentName, Instance, Ports
from kapstan.cluster.controlplane.hosted.runtime.ports import PortTable, PortTaken
from kapstan.cluster.controlplane.hosted.runtime.process.explanation import explain, explain_lines
from kapstan.cluster.controlplane.hosted.runtime.process.notes import Notes, Refused, Verified
from kapstan.cluster.controlplane.hosted.runtime.process.slots import SHARING, in_slot, shares_port, slot_name
from kapstan.components.process import Command, ProcessFailed
from kapstan.machinery.errors import KapstanError
from kapstan.machinery.gvk import ObjectKey

ONE, OTHER = ObjectKey("default", "one"), ObjectKey("default", "other")


@pytest.mark.parametrize(
    ("line", "text", "reason"),
    [
        pytest.param(
            'E1115 22:42:21.772324    9780 run.go:72] "command failed" err="failed to create listener: failed to '
            'listen on 127.0.0.1:6443: listen tcp 127.0.0.1:6443: bind: address already in use"',
            "it ended: another program listens on 127.0.0.1:6443",
            "AddressInUse",
            id="port taken, klog",
        ),
        pytest.param(
            '{"level":"fatal","msg":"failed","error":"listen tcp 127.0.0.1:2380: bind: address already in use"}',
            "it ended: another program listens on 127.0.0.1:2380",
            "AddressInUse",
            id="port taken, etcd",
        ),
        pytest.param(
            "Error: unknown flag: --no-such-flag",
            "it ended: it does not know the flag --no-such-flag",
            "UnknownFlag",
            id="unknown flag",
        ),
        pytest.param(
            "error verifying flags, flag provided but not defined: -no-such-flag. See 'etcd --help'.",
            "it ended: it does not know the flag --no-such-flag.",
            "UnknownFlag",
            id="unknown flag of etcd",
        ),
        pytest.param(
            '{"level":"panic","msg":"failed to create WAL","error":"write 0.tmp: no space left on device"}',
            "it ended: the disk is full; free some space",
            "NoSpace",
            id="full disk",
        ),
        pytest.param(
            "etcdserver: mvcc: database space exceeded",
            "it ended: etcd has used up its quota; raise --quota-backend-bytes",
            "NoSpace",
            id="quota",
        ),
        pytest.param(
            'E1115 22:42:21.772324    9780 run.go:72] "command failed" err="no such host"',
            'it ended: command failed err="no such host"',
            "Exited",
            id="anything else, klog",
        ),
        pytest.param('{"level":"fatal","msg":"bad","error":"worse"}', "it ended: bad: worse", "Exited", id="of etcd"),
        pytest.param("plain words", "it ended: plain words", "Exited", id="plain"),
    ],
)
def test_a_log_is_put_so_that_a_person_knows_what_to_do(line: str, text: str, reason: str) -> None:
    explanation = explain_lines("it ended", ["something before", line, ""])

    assert (str(explanation).rstrip("."), explanation.reason) == (text.rstrip("."), reason)


def test_no_log_is_no_reason() -> None:
    assert explain_lines("it ended", []) == "it ended"


def test_a_process_that_failed_is_explained_without_its_whole_log() -> None:
    failure = ProcessFailed("etcd ended (exit code 1) before it was ready", Path("/x.log"), ["a", "b", "the cause"])

    assert explain(failure) == "etcd ended (exit code 1) before it was ready: the cause"


def test_a_full_disk_is_named() -> None:
    explanation = explain(OSError(errno.ENOSPC, "No space left on device", "/data/pki/ca.crt"))

    assert explanation == "/data/pki/ca.crt cannot be written: the disk is full; free some space"
    assert explanation.reason == "NoSpace"


@given(st.lists(st.text(), max_size=5))
def test_whatever_a_log_holds_is_explained(lines: list[str]) -> None:
    assert explain_lines("it ended", lines).startswith("it ended")


def test_no_port_is_given_out_twice() -> None:
    table = PortTable(range(21000, 21060))
    chosen = [table.choose(5, "127.0.0.1", ONE) for _ in range(8)]

    ports = [port for group in chosen for port in group]
    assert len(ports) == len(set(ports))


def test_a_port_of_another_control_plane_cannot_be_had() -> None:
    table = PortTable()
    table.claim(6443, ONE)
    table.claim(6443, ONE)

    with pytest.raises(PortTaken, match=r"port 6443 belongs to HostedControlPlane default/one: .*spec\.exposure\.port"):
        table.claim(6443, OTHER)

    table.release((6443,))
    table.claim(6443, OTHER)


def a_record(owner: ObjectKey = ONE) -> Record:
    return Record(
        owner=str(owner),
        datastore="DedicatedEtcd",
        bind_address="127.0.0.1",
        advertise_address="127.0.0.1",
        ports=Ports(1, 2, 3, 4, 5),
        fixed=False,
    )


def test_a_folder_remembers_for_whoever_comes_next(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a")
    folder.save(a_record())
    notes = Notes(folder)
    verified = Verified.of(Command(("/bin/x", "--a=b"), {"GOGC": "40"}), "v1.36.3", slot=1)
    notes.verify(ComponentName.API_SERVER, verified)
    notes.refuse(ComponentName.SCHEDULER, Refused(digest="x", version="v1.36.4", message="no"))

    again = Notes(Folder(tmp_path / "a"))

    assert Folder(tmp_path / "a").record == a_record()
    assert again.verified == {"kube-apiserver": verified}
    assert again.verified["kube-apiserver"].command == Command(("/bin/x", "--a=b"), {"GOGC": "40"})
    assert set(again.refused) == {"kube-scheduler"}
    again.refuse(ComponentName.SCHEDULER, None)
    assert again.refused == {}


def test_a_folder_belongs_to_one_control_plane(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a")
    folder.claim(Instance(ONE, "a"))
    folder.save(a_record())
    folder.claim(Instance(ONE, "a"))

    with pytest.raises(KapstanError, match=r"the data 'a' .* belong to HostedControlPlane default/one"):
        folder.claim(Instance(OTHER, "a"))


def test_files_are_private_and_only_those_that_are_wanted(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a")
    folder.write_files({"pki/etcd/ca.crt": b"1", "pki/ca.key": b"2", "scheduler.conf": b"3"})
    kept = (folder.path / "pki/ca.key").stat()

    folder.write_files({"pki/ca.key": b"2", "scheduler.conf": b"4"})

    assert folder.read_files() == {"pki/ca.key": b"2", "scheduler.conf": b"4"}
    assert (folder.path / "pki/ca.key").stat() == kept  # components watch their files
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.path.rglob("*"))


def test_a_damaged_note_is_no_note(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "verified.json").write_text("{")
    (tmp_path / "instance.json").write_text("[]")

    assert Notes(folder).verified == {}
    assert folder.record is None


def test_the_second_slot_has_a_certificate_of_its_own() -> None:
    command = Command(
        (
            "/bin/kube-apiserver",
            "--tls-cert-file=/a/apiserver.crt",
            "--tls-private-key-file=/a/apiserver.key",
            "--etcd-certfile=/a/apiserver-etcd-client.crt",
            SHARING,
        )
    )

    assert in_slot(command, 0) == command
    other = in_slot(command, 1)
    assert other.argv[1:4] == (
        "--tls-cert-file=/a/apiserver-next.crt",
        "--tls-private-key-file=/a/apiserver-next.key",
        "--etcd-certfile=/a/apiserver-etcd-client.crt",
    )
    assert shares_port(other)
    assert slot_name(0) == "kube-apiserver" != slot_name(1)
