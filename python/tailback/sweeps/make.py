"""Making a sweep: what is in the cache is taken from there, the rest is run, and every finished run is kept at once, so
that a sweep that was killed goes on where it stopped."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tailback import _core, forked, nested
from tailback.callers import warn
from tailback.calls import checked_call
from tailback.custom import shipping
from tailback.errors import Problem, ScenarioError, nearest, refused
from tailback.memory import budget
from tailback.pool import cores
from tailback.progress import Bar
from tailback.results.versions import versions
from tailback.scenario import Scenario
from tailback.scenario.far_hosts import far_hosts
from tailback.scenario.seeds import several
from tailback.sweeps.cache import Cache, folder_of, key
from tailback.sweeps.design import Seeds, Variant, grid
from tailback.sweeps.drive import drive, make_ready
from tailback.sweeps.work import Row, Task
from tailback.units import counted, number

if TYPE_CHECKING:
    from tailback.sweeps.runs import Runs

Progress: TypeAlias = Callable[[int, int], object]
"""Called after every run with how many are done, and of how many."""


@checked_call
def sweep(
    base: Scenario | Sequence[Scenario],
    *,
    seeds: Seeds = 1,
    points: Sequence[Mapping[str, Any]] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: bool | str | Path = True,
    progress: bool | Progress = True,
    memory: str | int | None = None,
    in_place_of: str | None = None,
    **axes: Any,
) -> Runs:
    """Runs every combination of the values of ``axes``, with every seed.

    Args:
        base: the scenario to vary; of several, each with every combination (an axis called ``scenario``).
        seeds: how many, counted from the scenario's own, or which; ``seed=3`` sets the scenario's own, the first of them. All
            variants have the same seeds: their traffic is the same, and differences between them are sharper than each alone
            (common random numbers).
        points: combinations of fields that change together, crossed with the axes.
        jobs: processes; all cores where ``None``.
        executor: in place of processes of our own, any with the interface of ``concurrent.futures.Executor``, of a
            cluster for example.
        cache: whether finished runs are kept and found again, or the folder to keep them in.
        progress: whether a bar is shown when it takes longer than two seconds, or a function to tell.
        memory: what the runs may take together, ``"4 GB"``; half of what this process can have by default. Processes
            share it equally.
        in_place_of: the scheme that values of ``scheme`` replace: ``in_place_of="nada"`` leaves flows of other schemes, such
            as competing TCP, as they are. All flows by default.
        axes: values by field, as in :meth:`Scenario.replace`: ``buffer=["25 packets", "1 BDP"]``. Fields that are
            reached by a path are written ``**{"flows[0].scheme.beta": [0.5, 0.7]}``.

    Returns:
        All runs. Those that failed are among them with their errors.

    Raises:
        ScenarioError: where no combination makes a scenario, a scheme or another name is unknown in one of them, or an
            axis or the seeds are empty. Nothing is run then.
        StorageError: where the cache cannot be written.
    """
    _check_options(jobs, executor, progress)
    try:
        # Of tens of thousands, each with its own scenario, this takes minutes.
        with Bar("scenarios", show=progress is True) as bar:
            variants = _variants(base, axes, points, in_place_of, bar)
    except ScenarioError as error:
        raise ScenarioError([_with_option(problem, axes) for problem in error.problems], error.source) from None
    _warn_of_far_hosts(variants)
    first = next(variant.scenario.seed for variant in variants if variant.scenario is not None)
    return run_all(
        variants,
        several(seeds, first),
        jobs=jobs,
        executor=executor,
        cache=cache,
        progress=progress,
        memory=memory,
    )


@checked_call
def compare(
    schemes: Sequence[Any],
    over: Scenario | Sequence[Scenario],
    *,
    seeds: Seeds = 5,
    **options: Any,
) -> Runs:
    """Every scheme in place of the flows' own, in every scenario, with the same seeds.

        tb.compare(["nada", "gcc"], tb.Scenario.from_toml("examples/rfc8867/5.6.toml"), in_place_of="nada")

    Args:
        schemes: by name or with parameters.
        over: scenarios, told apart by their names.
        seeds: as in :func:`sweep`.
        options: further axes and options of :func:`sweep`, such as ``in_place_of``.

    Raises:
        ScenarioError: where there is no such scheme, or as for :func:`sweep`; nothing is run then.
    """
    if isinstance(schemes, str | Mapping) or not schemes:
        raise ScenarioError([Problem("schemes", repr(schemes), "a list of at least one scheme")], "compare")
    return sweep(over, seeds=seeds, scheme=list(schemes), **options)


def run_all(
    variants: Sequence[Variant],
    seeds: Sequence[int],
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: bool | str | Path = True,
    progress: bool | Progress = True,
    memory: str | int | None = None,
) -> Runs:
    """Runs all variants with all seeds; options as in :func:`sweep`."""
    forked.check()
    kept = Cache(folder_of(cache))
    each = None if executor is not None and memory is None else budget(memory) // (jobs or cores())
    with Bar("scenarios looked up", len(variants), show=progress is True) as bar:
        plan = _plan(variants, seeds, kept, bar, jobs=jobs, executor=executor, memory=each)
    _work_off(plan, kept, jobs=jobs, executor=executor, progress=progress)
    from tailback.sweeps import tables
    from tailback.sweeps.runs import Runs

    listed = [plan.rows[number] for number in range(len(plan.rows))]
    return Runs(
        variants=variants,
        table=tables.run_table(variants, listed),
        flows=tables.flow_table(variants, listed, plan.windows),
        links=tables.link_table(variants, listed, plan.windows),
        versions=versions(),
    )


@dataclass
class _Plan:
    """What a sweep consists of, and what is left to do."""

    rows: dict[int, Row]
    """All runs by number; those that are kept from before with what came of them."""
    tasks: list[Task]
    """Those that are still to be made."""
    windows: list[float]
    """Seconds that the counters of each variant cover."""


def _plan(
    variants: Sequence[Variant],
    seeds: Sequence[int],
    kept: Cache,
    bar: Bar,
    *,
    jobs: int | None,
    executor: Executor | None,
    memory: int | None,
) -> _Plan:
    """Looks every run up among those that are kept; processes begin to start with the first that is not."""
    plan, name = _Plan({}, [], []), secrets.token_hex(8)
    for place, variant in enumerate(variants):
        alone = executor is None and jobs == 1
        window, made = _tasks(variant, seeds, len(plan.rows), memory, name, alone=alone)
        plan.windows.append(window)
        for offset, seed in enumerate(seeds):
            record = kept.read(made[offset].key) if made else None
            plan.rows[len(plan.rows)] = Row(place, seed, record, variant.error)
            if made and record is None:
                if not plan.tasks and executor is not None:
                    nested.check()
                elif not plan.tasks:
                    make_ready(jobs)
                    # Slow to import, and wanted at the end only: meanwhile, processes start.
                    threading.Thread(target=importlib.import_module, args=("tailback.sweeps.tables",)).start()
                plan.tasks.append(made[offset])
        bar.advance()
    return plan


def _work_off(
    plan: _Plan, kept: Cache, *, jobs: int | None, executor: Executor | None, progress: bool | Progress
) -> None:
    """Makes the runs that are left, and keeps each as soon as it is done."""
    told = progress if callable(progress) else None
    finished = len(plan.rows) - len(plan.tasks)
    keys = {task.number: task.key for task in plan.tasks}
    with Bar(counted(len(plan.tasks), "run"), len(plan.tasks), show=progress is True) as bar:
        for done in drive(plan.tasks, jobs=jobs, executor=executor):
            before = plan.rows[done.number]
            if done.error:
                plan.rows[done.number] = Row(before.variant, before.seed, None, done.error)
            else:
                record = kept.write(keys[done.number], done.record)
                plan.rows[done.number] = Row(before.variant, before.seed, record)
            finished += 1
            bar.advance()
            if told:
                told(finished, len(plan.rows))


def _check_options(jobs: Any, executor: Any, progress: Any) -> None:
    """Complains before anything is run.

    Raises:
        ArgumentError: for an option that nothing can be done with.
    """
    if jobs is not None and not (isinstance(jobs, int) and jobs >= 1):
        raise refused("jobs", jobs, "a number of processes, at least 1, or None for all cores")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise refused("executor", executor, "one with the interface of concurrent.futures.Executor, or None")
    if not isinstance(progress, bool) and not callable(progress):
        raise refused("progress", progress, "True, False, or a function of how many runs are done, and of how many")


def _warn_of_far_hosts(variants: Sequence[Variant]) -> None:
    """Warns once: one of them tells as much as all."""
    scenarios = (variant.scenario.to_dict() for variant in variants if variant.scenario is not None)
    for warning in next(filter(None, map(far_hosts, scenarios)), []):
        warn(warning)


def _with_option(problem: Problem, axes: Mapping[str, Any]) -> Problem:
    """The complaint about an axis that is no field, with the option of a sweep that may be meant."""
    if problem.field not in axes or problem.value != "an unknown field":
        return problem
    meant = nearest(problem.field, inspect.signature(sweep).parameters)
    return dataclasses.replace(problem, allowed=f"{problem.allowed}, or the option {meant}") if meant else problem


def _variants(
    base: Scenario | Sequence[Scenario],
    axes: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]] | None,
    in_place_of: str | None,
    bar: Bar,
) -> list[Variant]:
    if isinstance(base, Scenario):
        return grid(base, axes, points, in_place_of, bar)
    is_list = isinstance(base, Sequence) and not isinstance(base, str)
    if not is_list or not all(isinstance(each, Scenario) for each in base):
        allowed = "a Scenario or a list of them; Scenario.from_toml reads one from a file"
        raise ScenarioError([Problem("scenario", repr(base), allowed)], "sweep")
    named = _names(base)
    return [
        dataclasses.replace(variant, labels={"scenario": name, **variant.labels})
        for name, scenario in zip(named, base, strict=True)
        for variant in grid(scenario, axes, points, in_place_of, bar)
    ]


def _names(scenarios: Sequence[Scenario]) -> list[str]:
    if not scenarios:
        raise ScenarioError([Problem("scenarios", "[]", "at least one scenario")])
    names: list[str] = []
    for place, scenario in enumerate(scenarios):
        name = scenario.name or f"scenario {place + 1}"
        names.append(name if name not in names else f"{name} ({place + 1})")
    return names


def _tasks(
    variant: Variant, seeds: Sequence[int], first: int, memory: int | None, sweep: str, *, alone: bool = False
) -> tuple[float, list[Task]]:
    """The window of a variant, and its tasks; none where it makes no scenario. Custom parts go with them,
    unless they are worked off in this process."""
    scenario = variant.scenario
    if scenario is None:
        return 1.0, []
    text = scenario.to_json()
    digest = variant.digest or _core.scenario_hash(text)
    said = scenario.to_dict()
    names = shipping.named_in(said)
    with scenario.as_made():
        code = shipping.digest(names)
        parts = () if alone else shipping.ship(names)
    custom = f"{sweep} {sorted(map(str, shipping.tables_in(said)))} {code}" if names else ""
    here = scenario if names else None
    warm_up = number(scenario.warm_up)
    window = number(scenario.duration) - warm_up
    after = warm_up + 0.5 * number(scenario.record.bin)  # A bin belongs to the window when more than half of it does.
    return window, [
        Task(first + place, text, seed, key(digest, seed, code), window, after, parts, memory, warm_up, custom, here)
        for place, seed in enumerate(seeds)
    ]
