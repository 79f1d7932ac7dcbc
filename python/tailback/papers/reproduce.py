"""Runs items of the ledger, writes each one's figure and data, and says how its claim fared. The HTML page is made of
this by ``tailback.report``; the command line is in ``tailback.cli``."""

from __future__ import annotations

import json
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailback.errors import StorageError, TailbackError
from tailback.papers import finished
from tailback.papers.item import Fidelity, Outcome, Parameter, Word
from tailback.papers.lab import Lab, Shared
from tailback.papers.ledger import Claim
from tailback.plain import plain
from tailback.pool import Pool, as_done
from tailback.progress import Bar
from tailback.results.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass
class Verdict:
    """What became of one item."""

    claim: Claim
    fidelity: Fidelity
    wall_s: float = 0.0
    """Seconds from the item's start to its judgement. Items share the cores, so these do not add up."""
    runs: int = 0
    parameters: Sequence[Parameter] = field(default_factory=tuple)
    outcome: Outcome | None = None
    """``None`` where the item could not run."""
    error: str = ""
    """Why it could not run."""
    trace: str = ""
    """Where in the code that happened, for the report."""
    figure: Path | None = None
    data: Path | None = None
    drawn: Figure | None = None
    """What ``figure`` holds, for a report that makes it interactive."""
    kept: bool = False
    """Whether an earlier reproduction finished it, so that nothing was run now."""

    @property
    def ran(self) -> bool:
        """Whether the item could run, whether or not its claim holds."""
        return self.outcome is not None

    @property
    def holds(self) -> bool:
        """Whether the claim is reproduced."""
        return self.word == "holds"

    @property
    def word(self) -> Word | Literal["error"]:
        """How the claim fared; ``error`` where the item could not run."""
        return self.outcome.verdict if self.outcome else "error"

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be explained: the claim holds, or it is refuted."""
        return self.word in {"holds", "refuted"}

    def as_json(self) -> dict[str, Any]:
        """The object that ``tailback reproduce --json`` prints."""
        return {
            "id": self.claim.id,
            "fidelity": self.fidelity,
            "wall_s": round(self.wall_s, 3),
            "runs": self.runs,
            "holds": self.holds,
            "verdict": self.word,
            "test": "changed" if self.outcome and self.outcome.changed else "ledger",
            "changed": self._changed(),
            "refuted": self._refuted(),
            "published": plain(self.claim.published),
            "measured": plain({key: self.outcome.measured[key] for key in self.claim.keys}) if self.outcome else {},
            "why": self.outcome.why if self.outcome else f"could not run: {self.error}",
            "figure": str(self.figure) if self.figure else "",
            "data": str(self.data) if self.data else "",
        }

    def _changed(self) -> dict[str, Any] | None:
        changed = self.outcome.changed if self.outcome else None
        return {"holds": changed.holds, "why": changed.why} if changed else None

    def _refuted(self) -> dict[str, Any] | None:
        refutation = self.outcome.refutation if self.outcome else None
        return {"holds": refutation.holds, "proof": refutation.proof} if refutation else None


def summary(verdicts: Sequence[Verdict], unbuilt: int = 0) -> str:
    """How many claims fared how, in one sentence.

    Args:
        verdicts: of the items that were run.
        unbuilt: how many of the items that were asked for have no code yet.
    """
    changed = [verdict.outcome.changed for verdict in verdicts if verdict.outcome]
    return tally([verdict.word for verdict in verdicts], [test.holds for test in changed if test], unbuilt)


def tally(words: Sequence[str], changed: Sequence[bool], unbuilt: int = 0) -> str:
    """The same from how each claim fared, and whether it holds by a changed test where there is one."""
    count = Counter(words)
    parts = [f"{count['holds']} of {len(words)} {'claim' if len(words) == 1 else 'claims'} reproduced"]
    parts += [f"{count[word]} {said}" for word, said in SAID.items() if count[word]]
    if unbuilt:
        parts[-1] += f", and {unbuilt} not built yet"
    judged = f" {len(changed)} also judged by a changed test: {sum(changed)} of these hold by it." if changed else ""
    return f"{', '.join(parts)}.{judged}"


SAID: Mapping[str, str] = {
    "refuted": "refuted",
    "fails": "not reproduced",
    "open": "open (part of the test could not be run)",
    "error": "could not run",
}
"""What a summary says of those that do not hold."""


def reproduce(
    claims: Sequence[Claim],
    fidelity: Fidelity,
    out: Path,
    *,
    jobs: int | None = None,
    show_progress: bool = True,
    each: Callable[[Verdict], object] | None = None,
    resume: bool = False,
) -> list[Verdict]:
    """Runs items and writes their figures and data under ``out``, one folder per paper.

    Items are measured side by side, their runs sharing one pool of ``jobs`` processes; drawing and writing is done
    one by one here. ``each`` hears of every verdict as it comes. An item that fails does not take others down. With
    ``resume``, what the same code finished under ``out`` before, at the same length, is taken from there.

    Raises:
        StorageError: where ``out`` cannot be written.
    """
    verdicts = {claim.id: verdict for claim in claims if resume and (verdict := _kept(claim, fidelity, out))}
    for verdict in verdicts.values():
        _draw(verdict, out)
        if each:
            each(verdict)
    left = [claim for claim in claims if claim.id not in verdicts]
    shared = Shared()
    with Pool(jobs) as pool, Bar("reproducing", show=show_progress) as bar:
        for verdict in _measured(left, lambda claim: _measure(claim, Lab(fidelity, pool, bar, shared)), pool):
            _write(verdict, out)
            verdicts[verdict.claim.id] = verdict
            if each:
                each(verdict)
    return [verdicts[claim.id] for claim in claims]


def _kept(claim: Claim, fidelity: Fidelity, out: Path) -> Verdict | None:
    """The verdict on an item that was finished before, if it was."""
    found = finished.kept(claim, fidelity, _target(claim, out))
    if found is None:
        return None
    return Verdict(claim, fidelity, found.wall_s, found.runs, found.parameters, found.outcome, kept=True)


def _measured(claims: Sequence[Claim], measure: Callable[[Claim], Verdict], pool: Pool) -> Iterator[Verdict]:
    jobs = pool.jobs
    if jobs <= 1:
        yield from map(measure, claims)
        return
    # Threads only wait for the pool's processes; a few more of them than cores keep the pool fed.
    with ThreadPoolExecutor(max_workers=max(1, min(len(claims), jobs + 2))) as threads:
        futures = [threads.submit(measure, claim) for claim in claims]
        try:
            for future in as_done(futures):
                yield future.result()
        except BaseException:
            # The threads wait for the pool, and this one for the threads: what they wait for must end first.
            for future in futures:
                future.cancel()
            pool.stop()
            raise


def _measure(claim: Claim, lab: Lab) -> Verdict:
    verdict = Verdict(claim, lab.fidelity)
    began = time.monotonic()
    try:
        item = claim.item()
        verdict.parameters = tuple(item.parameters(lab.fidelity))
        outcome = item.measure(lab)
        missing = [key for key in claim.keys if key not in outcome.measured]
        if missing:
            raise TailbackError(f"the item's code does not measure {', '.join(missing)}")
        verdict.outcome = outcome
    except Exception as error:  # Whatever it is, the other items go on and the report tells.
        _fail(verdict, error)
    verdict.wall_s, verdict.runs = time.monotonic() - began, lab.runs
    return verdict


def _fail(verdict: Verdict, error: Exception, doing: str = "") -> None:
    """Tells of an error, from within its handler."""
    known = isinstance(error, TailbackError)
    verdict.outcome = None
    verdict.error = doing + (str(error) if known else f"{type(error).__name__}: {error}")
    verdict.trace = "" if known else traceback.format_exc()


def _target(claim: Claim, out: Path) -> Path:
    """Where an item's table lies; its figure and the rest stand beside it."""
    return out / claim.paper / f"{claim.id.split('/', 1)[1]}.parquet"


def _write(verdict: Verdict, out: Path) -> None:
    if verdict.outcome is None:
        return
    from tailback.results.files import make_folder
    from tailback.results.tables import write_csv, write_parquet

    data, outcome = _target(verdict.claim, out), verdict.outcome
    make_folder(data.parent)
    about = {"tailback.item": verdict.claim.id, "tailback.measured": json.dumps(plain(outcome.measured))}
    write_parquet(outcome.data, data, outcome.units, about)
    write_csv(outcome.data, data.with_suffix(".csv"))
    if not _draw(verdict, out):
        return
    # Last: what has a record is whole.
    done = finished.Finished(verdict.wall_s, verdict.runs, tuple(verdict.parameters), outcome)
    finished.keep(verdict.claim, verdict.fidelity, done, data)


def _write_scenario(said: str, target: Path) -> None:
    """Writes one of an item's scenarios beside its data, for who wants to change it; none is left where it has none now.

    Raises:
        StorageError: where it cannot be written.
    """
    if said:
        write_file(target, lambda path: path.write_text(said, encoding="utf-8"))
    else:
        target.unlink(missing_ok=True)


def _draw(verdict: Verdict, out: Path) -> bool:
    """Draws an item's figure; whether there is one. Where its drawing fails, so has the item.

    Raises:
        StorageError: where the figure cannot be written.
    """
    if verdict.outcome is None:
        return False
    from tailback.plot.style import save

    data = _target(verdict.claim, out)
    _write_scenario(verdict.outcome.scenario, data.with_suffix(".toml"))
    try:
        drawn = verdict.claim.item().draw(verdict.outcome)
        save(drawn, data.with_suffix(".svg"), salt=verdict.claim.id)
    except StorageError:
        raise
    except Exception as error:  # As in measuring.
        _fail(verdict, error, "its figure could not be drawn: ")
        return False
    verdict.data, verdict.figure, verdict.drawn = data, data.with_suffix(".svg"), drawn
    return True
