"""Logs stay small, private and readable while they are written."""

from __future__ import annotations

import os
from pathlib import Path

from kapstan.components import logs


def test_a_small_log_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "etcd.log"
    log.write_text("12345")

    assert not logs.rotate(log, max_bytes=6)
    assert not logs.rotate(tmp_path / "missing.log")
    assert os.listdir(tmp_path) == ["etcd.log"]


def test_a_log_is_rotated_while_it_is_written(tmp_path: Path) -> None:
    """Appending goes on at the new beginning: no hole of zeros, nothing lost."""
    log = tmp_path / "etcd.log"
    logs.prepare(log)
    writer = os.open(log, logs.OPEN_FLAGS)

    for number in range(6):
        os.write(writer, f"line {number}\n".encode())
        logs.rotate(log, max_bytes=1)
    os.write(writer, b"last\n")
    os.close(writer)

    assert log.read_text() == "last\n"
    assert [(tmp_path / f"etcd.log.{number}").read_text() for number in (1, 2, 3)] == [
        "line 5\n",
        "line 4\n",
        "line 3\n",
    ]
    assert len(os.listdir(tmp_path)) == 4
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


def test_a_log_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    log = tmp_path / "etcd.log"
    log.touch(mode=0o644)

    logs.prepare(log)

    assert log.stat().st_mode & 0o777 == 0o600


def test_tail_gives_the_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "etcd.log"
    log.write_text("".join(f"{number}\n" for number in range(100_000)))

    assert logs.tail(log, 2) == ["99998", "99999"]
    assert logs.tail(log, 2, since=log.stat().st_size - 6) == ["99999"]
    assert logs.tail(tmp_path / "missing.log") == []


def test_tail_after_a_rotation_does_not_look_beyond_the_end(tmp_path: Path) -> None:
    log = tmp_path / "etcd.log"
    log.write_text("new\n")

    assert logs.tail(log, since=1_000_000) == ["new"]


def test_tail_leaves_out_where_a_program_panicked(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    trace = "goroutine 1 [running]:\nmain.main()\n\tmain.go:31 +0x28\n"
    log.write_text(f'{{"msg":"bad"}}\npanic: bad\n\n{trace}{{"msg":"again"}}\npanic: worse\n\n{trace}')
    assert logs.tail(log) == ['{"msg":"bad"}', "panic: bad", "", '{"msg":"again"}', "panic: worse", ""]
