"""What fuzzing begins with, `fuzz/seeds.tar.gz`: its datagrams are of the wire format in force. What targets do is in `fuzz/`."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_kept_datagrams_are_of_the_version_in_force() -> None:
    """Others are refused at their first byte, so that a run would begin with nothing."""
    code = (ROOT / "crates/transport/src/wire.rs").read_text()
    found = re.search(r"pub const VERSION: u8 = (\d+);", code)
    assert found is not None
    with tarfile.open(ROOT / "fuzz/seeds.tar.gz") as archive:
        members = [one for one in archive.getmembers() if one.isfile() and one.name.startswith("wire_decode/")]
        frames = [file.read() for file in map(archive.extractfile, members) if file is not None]
    kinds = {frame[1] for frame in frames if len(frame) >= 20 and frame[0] == int(found[1])}
    assert kinds >= {0, 1, 2, 3, 4, 5}, (
        f"{kinds} of version {found[1]}: add frames of it, and pack them by tools/fuzz keep"
    )
