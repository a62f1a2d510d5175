"""Files that only their owner can read, in folders that only their owner can look into."""

from pathlib import Path

from kapstan.components.files import private_folder, write_private


def test_every_folder_on_the_way_is_private(tmp_path: Path) -> None:
    write_private(tmp_path / "a" / "b" / "key", b"secret")

    modes = [(tmp_path / path).stat().st_mode & 0o777 for path in ("a", "a/b", "a/b/key")]
    assert modes == [0o700, 0o700, 0o600]


def test_a_folder_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)

    assert private_folder(tmp_path / "a").stat().st_mode & 0o777 == 0o755


def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"secret")
    (tmp_path / "key").chmod(0o644)

    write_private(tmp_path / "key", b"secret")

    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
