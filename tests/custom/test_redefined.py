"""Classes of custom parts that are defined again under the same name, as in a notebook: what was made before keeps the older.
What a class must have is tested in ``test_registration.py``."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import tailback as tb
from tailback.custom import shipping

LINK = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="100 packets", duration="2 s")


def still(packets: int) -> type[tb.Controller]:
    """A controller that always has the same window."""

    class Still(tb.Controller):
        def __init__(self, connection: tb.Connection, more: float = 0.0) -> None:
            super().__init__(connection)
            self.window = (packets + more) * connection.segment

        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            """Changes nothing."""

        def directive(self) -> tb.Directive:
            return tb.Directive(window=int(self.window))

    return Still


def full(packets: int) -> type[tb.QueueDiscipline]:
    """A queue that is full at so many packets, called as the controller is."""

    class Still(tb.QueueDiscipline):
        def __init__(self, link: tb.Link) -> None:
            super().__init__(link)
            self.waiting: list[tb.Packet] = []

        def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
            del now
            if len(self.waiting) < packets:
                self.waiting.append(packet)
            else:
                cx.drop(packet)

        def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
            del now, cx
            return self.waiting.pop(0) if self.waiting else None

    return Still


def made_with(packets: int, **settings: Any) -> tb.Scenario:
    return LINK.with_flows(tb.flows(1, still(packets).scheme(**settings)))


def sent(result: tb.Result) -> float:
    return float(result.flows["goodput"][0])


def test_a_scenario_keeps_the_class_that_it_was_made_with() -> None:
    older = made_with(4)
    few = sent(older.run())
    newer = made_with(8)
    many = sent(newer.run())
    assert many > 1.5 * few
    assert sent(older.run()) == few
    assert sent(newer.run()) == many
    assert older != newer
    assert sent(older.replace(seed=3, name="still").run()) == pytest.approx(few, rel=0.05)
    assert sent(copy.deepcopy(older).run()) == few
    assert sent(older.run().scenario.run()) == few
    assert sent(older.replace(**{"flows[0].scheme.settings.more": 1}).run()) < many
    assert sent(pickle.loads(pickle.dumps(older)).run()) == many  # As another process would have it: by its name.


def test_a_class_that_is_given_anew_is_the_newer_one() -> None:
    older = made_with(4)
    newer = still(8)
    again = sent(LINK.with_flows(tb.flows(1, newer.scheme())).run())
    assert sent(older.with_flows(tb.flows(1, newer.scheme())).run()) == again
    assert sent(older.replace(scheme=newer.scheme()).run()) == again
    assert sent(older.replace(scheme="still").run()) == again
    assert sent(older.replace(scheme={"name": "still", "more": 0}).run()) == again


@pytest.mark.parametrize("jobs", [1, 2])
def test_sweeps_keep_the_classes_of_their_scenarios(jobs: int) -> None:
    older = made_with(4).replace(name="older")
    newer = made_with(8).replace(name="newer")
    runs = tb.sweep([older, newer], seeds=2, jobs=jobs, cache=False)
    few, many = runs.table["goodput"].to_list()[::2]
    assert many > 1.5 * few
    assert sent(runs.result(scenario="older", seed=1)) == sent(older.run(seed=1)) < sent(newer.run(seed=1))
    assert sent(made_with(8).run()) == sent(newer.run())  # Names mean what they meant.


def test_a_sweep_of_one_run_leaves_names_as_they_are() -> None:
    older, newer = made_with(4), made_with(8)
    assert older.sweep(seeds=1, cache=False).failed.is_empty()
    assert sent(LINK.with_flows(tb.flows(1, "still")).run()) == sent(newer.run())


def test_settings_are_checked_by_the_class_that_a_scenario_has() -> None:
    class Knob(still(4)):  # type: ignore[misc]  # A class that is made by a function.
        pass

    older = LINK.with_flows(tb.flows(1, Knob.scheme(more=1)))

    class Knob(tb.Controller):  # type: ignore[no-redef]  # That is what happens in a notebook.
        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            """Changes nothing."""

        def directive(self) -> tb.Directive:
            return tb.Directive(window=3000)

    Knob.scheme()
    older.check()
    assert older.predicted().flows.height == 1
    older.replace(**{"flows[0].scheme.settings.more": 2}).run()
    with pytest.raises(tb.ScenarioError, match=r"Knob.__init__ takes none"):
        LINK.with_flows(tb.flows(1, {"name": "custom", "part": "knob", "settings": {"more": 1}}))


def test_a_queue_and_a_controller_may_have_the_same_name(recwarn: pytest.WarningsRecorder) -> None:
    controller, queue = still(30), full(10)
    scheme = controller.scheme()
    both = LINK.replace(queue=queue.queue()).with_flows(tb.flows(2, scheme))
    assert not recwarn.list
    plain = LINK.with_flows(tb.flows(2, "still"))
    assert both.run().links["dropped_packets"].sum() > 0 == plain.run().links["dropped_packets"].sum()
    assert len(shipping.named_in(both.to_dict())) == len(shipping.ship(shipping.named_in(both.to_dict()))) == 2
    made = both.sweep(seeds=2, jobs=2, cache=False)
    assert made.failed.is_empty()
    assert made.table["goodput"][0] != plain.sweep(seeds=1, cache=False).table["goodput"][0]


def test_a_table_of_an_older_class_is_refused() -> None:
    older, pair = still(4), full(10)
    table, queue = older.scheme(), pair.queue()
    assert sent(LINK.with_flows(tb.flows(1, copy.deepcopy(table))).run()) > 0
    newer = still(8)
    newer.scheme()
    message = r'still: a table of an earlier class Still.* expected Still\.scheme\(\) .*name = "still-2"'
    with pytest.raises(tb.PartError, match=message):
        tb.flows(1, table)
    with pytest.raises(tb.PartError, match=message):
        made_with(8).replace(scheme=table)
    with pytest.raises(tb.PartError, match=message):
        tb.compare([table, "reno"], made_with(8), seeds=1)
    LINK.replace(queue=queue)  # The queue of that name is another matter.
    full(9).queue()
    with pytest.raises(tb.PartError, match=r"still: .* expected Still\.queue\(\)"):
        tb.dumbbell(rate="1 Mbit/s", queue=queue, duration="1 s")
