"""What a sweep keeps of a run beside the core's own columns: whoever changes it raises ``FORMAT``, or kept runs of before would
be read as if they were of now. Another core is seen by the digest of its file."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import tailback as tb
from tailback import _core
from tailback.sweeps import cache

KEPT = (6, "c4fa24677f59c4be")
"""``FORMAT`` and a digest of the names of all that is kept. Where the second changes, raise the first and write both
here."""


def shape(record: Any, place: str = "") -> Iterator[str]:
    """The names of all values, with those that they stand within."""
    if isinstance(record, dict):
        for name in sorted(record):
            yield from shape(record[name], f"{place}.{name}")
    else:
        yield f"{place}[]" if isinstance(record, list) else place


def test_another_record_has_another_format(tmp_path: Any) -> None:
    base = tb.dumbbell(rate="2 Mbit/s", delay="10 ms", buffer="10 packets", duration="3 s", warm_up="1 s")
    flows = (tb.flows(1, "reno"), tb.flows(1, "sack", {"name": "files"}))
    runs = base.with_flows(*flows).sweep(seeds=1, cache=tmp_path, jobs=1)
    assert runs.table.height == 1
    (kept,) = (path for path in tmp_path.rglob("*") if path.is_file())
    record = cache.opened(kept.name.partition(".")[0], kept.read_bytes())
    assert record is not None
    raw = _core.run(base.with_flows(*flows).to_json())
    ours = {name: value for name, value in record.items() if name not in {"format", "key"}}
    for table, columns in (("flows", raw.flows_measured), ("links", raw.links_measured)):
        ours[table] = {name: value for name, value in ours[table].items() if name not in columns}
    said = "\n".join(shape(ours))
    digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]
    assert (cache.FORMAT, digest) == KEPT, said
