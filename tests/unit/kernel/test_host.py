"""A host answers, waits, stops, dies and begins again, with its disk and nothing else."""

import gc
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import pytest

from ddlsim.kernel.channel import LinkProfile
from ddlsim.kernel.engine import Ended, SimulationCrashed
from ddlsim.kernel.host import Host, kind_of
from ddlsim.model.ports import NO_REPLY
from tests.support.engine import Answer, Ask, Note, Small


@pytest.fixture
def small() -> Small:
    return Small()


def ask(small: Small, host: Host, to: str, timeout_us: int = 100_000, number: int = 0) -> None:
    """Ask, and write down what came of it."""

    async def asking() -> None:
        small.write_down(await host.request(to, Ask(number), timeout_us))

    host.spawn(asking())


def serve(small: Small, host: Host, *, after_us: int = 0) -> None:
    """Answer every `Ask` with its number plus one."""

    async def handler(_: str, question: Ask) -> Answer:
        if after_us:
            await host.sleep(after_us)
        return Answer(question.number + 1)

    host.on(Ask, handler)


class TestKinds:
    def test_a_kind_is_the_name_of_the_class(self) -> None:
        class AppendEntries:
            pass

        class HTTPRequest2Old:
            pass

        assert [kind_of(cls) for cls in (Note, AppendEntries, HTTPRequest2Old)] == [
            "note", "append-entries", "http-request2-old",
        ]  # fmt: skip

    def test_a_class_may_name_its_kind(self) -> None:
        class Named:
            kind: ClassVar[str] = "append-entries"

        assert kind_of(Named) == "append-entries"

    def test_a_field_called_kind_is_not_the_kind(self) -> None:
        @dataclass(slots=True)
        class LockRequest:
            kind: str

        class Fault(NamedTuple):
            kind: str

        assert kind_of(LockRequest) == "lock-request"
        assert kind_of(Fault) == "fault"


class TestRequests:
    @pytest.mark.parametrize("after_us", [0, 500])
    def test_a_request_is_answered(self, small: Small, after_us: int) -> None:
        serve(small, small.b, after_us=after_us)
        ask(small, small.a, "b", number=4)
        small.loop.run()
        assert small.arrived == [(2000 + after_us, Answer(5))]
        assert not any(deadlines.waiting for deadlines in small.a._deadlines.values())

    def test_a_handler_may_answer_without_waiting(self, small: Small) -> None:
        small.b.on(Ask, lambda sender, question: (sender, question.number))
        ask(small, small.a, "b", number=4)
        small.loop.run()
        assert small.arrived == [(2000, ("a", 4))]

    @pytest.mark.parametrize("waits", [False, True])
    def test_none_is_no_reply(self, small: Small, waits: bool) -> None:
        async def silent(_: str, question: Ask) -> None:
            if waits:
                await small.b.sleep(1)

        small.b.on(Ask, silent)
        ask(small, small.a, "b", timeout_us=7000)
        small.loop.run()
        assert small.arrived == [(7000, NO_REPLY)]

    def test_false_and_zero_are_replies(self, small: Small) -> None:
        small.b.on(Ask, lambda _, question: bool(question.number))
        ask(small, small.a, "b")
        small.loop.run()
        assert small.arrived == [(2000, False)]

    def test_a_late_reply_is_ignored(self, small: Small) -> None:
        serve(small, small.b, after_us=3000)
        ask(small, small.a, "b", timeout_us=4000)
        ask(small, small.a, "b", timeout_us=6000)
        small.loop.run()
        assert small.arrived == [(4000, NO_REPLY), (5000, Answer(1))]

    def test_a_duplicated_request_is_served_twice_and_its_reply_taken_once(
        self, small: Small
    ) -> None:
        served: list[str] = []

        def handler(sender: str, question: Ask) -> Answer:
            served.append(sender)
            return Answer()

        small.network.configure(LinkProfile(duplication=1.0))
        small.b.on(Ask, handler)
        ask(small, small.a, "b")
        small.loop.run()
        assert len(served) == 2
        assert len(small.arrived) == 1

    def test_a_request_to_oneself_takes_no_time_and_times_out(self, small: Small) -> None:
        serve(small, small.a, after_us=500)
        ask(small, small.a, "a", timeout_us=501)
        ask(small, small.a, "a", timeout_us=400)
        small.loop.run()
        assert small.arrived == [(400, NO_REPLY), (500, Answer(1))]

    def test_a_request_to_oneself_is_not_served_within_the_step(self, small: Small) -> None:
        async def handler(_: str, question: Ask) -> Answer:
            small.write_down("served")
            return Answer()

        async def asking() -> None:
            reply = small.a.request("a", Ask(), 1000)
            small.write_down("same step")
            small.write_down(await reply)

        small.a.on(Ask, handler)
        small.a.spawn(asking())
        small.loop.run()
        assert small.numbers == ["same step", "served", Answer()]

    def test_a_reply_travels_under_the_label_of_its_request(self, small: Small) -> None:
        """So that its delay does not depend on which replies were sent before."""
        seen: list[tuple[str, int]] = []
        small.network.trace = lambda what, _, envelope: (
            seen.append((envelope.channel.kind, envelope.label)) if what == "send" else None
        )
        serve(small, small.b)
        small.a.send("b", Ask())
        small.a.request("b", Ask(), 1000, label=40)
        small.loop.run()
        assert seen == [("ask", 1), ("ask", 40), ("answer", 40)]

    def test_a_bare_value_is_a_reply_of_the_requests_kind(self, small: Small) -> None:
        hold = small.network.hold("b", "a", "ask-reply")
        small.b.on(Ask, lambda *_: True)
        ask(small, small.a, "b")
        small.loop.call_at(9000, hold.release)
        small.loop.run()
        assert small.arrived == [(9000, True)]

    def test_a_payload_without_handler_is_a_defect_of_the_model(self, small: Small) -> None:
        small.a.send("b", Note(1))
        with pytest.raises(SimulationCrashed, match="b has no handler for Note"):
            small.loop.run()

    def test_two_handlers_for_one_type_are_refused(self, small: Small) -> None:
        small.a.on(Note, print)
        with pytest.raises(AssertionError, match="two handlers"):
            small.a.on(Note, print)

    def test_a_handler_must_not_return_a_future(self, small: Small) -> None:
        small.b.on(Note, lambda *_: small.b.sleep(1))
        small.a.send("b", Note(1))
        with pytest.raises(SimulationCrashed, match="a handler returned"):
            small.loop.run()

    def test_a_handler_that_may_wait_is_a_coroutine_function(self, small: Small) -> None:
        async def flow() -> None: ...

        begun = flow()
        small.b.on(Note, lambda *_: begun)
        small.a.send("b", Note(1))
        with pytest.raises(SimulationCrashed, match="a handler returned <coroutine"):
            small.loop.run()
        begun.close()

    @pytest.mark.parametrize("waits", [False, True])
    def test_a_failing_handler_is_a_crash_by_name(self, small: Small, waits: bool) -> None:
        async def clumsy(_: str, note: Note) -> None:
            if waits:
                await small.b.sleep(1)
            raise LookupError("dropped it")

        small.b.on(Note, clumsy)
        small.a.send("b", Note(1))
        with pytest.raises(SimulationCrashed, match="clumsy: LookupError: dropped it"):
            small.loop.run()


class TestCrash:
    @pytest.mark.usefixtures("_only_new_garbage")
    def test_a_crash_stops_tasks_timers_and_replies(self, small: Small) -> None:
        async def steps() -> None:
            try:
                await small.b.sleep(5000)
            finally:
                small.write_down("finally")

        serve(small, small.b, after_us=2000)
        small.b.spawn(steps())
        small.b.call_later(3000, small.write_down, "timer")
        ask(small, small.a, "b", timeout_us=9000)
        small.loop.call_at(2000, small.b.crash)
        small.loop.run()
        gc.collect()
        assert small.arrived == [(3000, NO_REPLY)]  # the connection broke when b died
        assert not small.b.alive

    def test_the_dead_refuse_requests(self, small: Small) -> None:
        serve(small, small.b)
        small.b.crash()
        ask(small, small.a, "b", timeout_us=9000)
        small.loop.run()
        assert small.arrived == [(2000, NO_REPLY)]

    def test_who_dies_while_it_stands_still_refuses_what_waited(self, small: Small) -> None:
        serve(small, small.b)
        small.b.pause()
        ask(small, small.a, "b", timeout_us=9000)
        small.loop.call_at(4000, small.b.crash)
        small.loop.run()
        assert small.arrived == [(5000, NO_REPLY)]

    def test_pending_requests_of_the_dead_vanish(self, small: Small) -> None:
        serve(small, small.b)
        ask(small, small.a, "b")
        small.loop.call_at(1500, small.a.crash)
        small.loop.run()
        assert small.arrived == []

    def test_the_next_incarnation_does_not_hear_replies_to_the_last(self, small: Small) -> None:
        serve(small, small.b)

        def boot() -> None:
            ask(small, small.a, "b", number=10)

        ask(small, small.a, "b", number=1)
        small.loop.call_at(1500, small.a.restart, boot)
        small.loop.run()
        assert small.arrived == [(3500, Answer(11))]
        assert small.a.incarnation_number == 2

    def test_nobody_hears_what_the_last_incarnation_asked_for(self, small: Small) -> None:
        """Not even somebody who lives on, such as a task of no host."""
        serve(small, small.b)

        async def asking() -> None:
            small.write_down(await small.a.request("b", Ask(), 9000))

        small.loop.spawn(asking())
        small.loop.call_at(1500, small.a.restart, lambda: None)
        small.loop.run()
        assert small.arrived == []

    @pytest.mark.parametrize("waits", [False, True])
    def test_who_dies_of_a_request_does_not_answer_it(self, small: Small, waits: bool) -> None:
        def handler(*_: Any) -> Any:
            small.b.crash()
            return Answer()

        async def flow(*_: Any) -> Any:
            return handler()

        small.b.on(Ask, flow if waits else handler)
        ask(small, small.a, "b", timeout_us=9000)
        small.loop.run()
        assert small.arrived == [(9000, NO_REPLY)]

    def test_a_restart_begins_with_the_disk_and_nothing_else(self, small: Small) -> None:
        small.listen(small.b)
        small.b.disk["term"] = 7
        small.b.crash()

        def boot() -> None:
            small.write_down(dict(small.b.disk))
            small.b.on(Note, lambda _, note: small.write_down(("new", note.number)))

        small.a.send("b", Note(1))
        small.loop.run()
        small.b.restart(boot)
        small.a.send("b", Note(2))
        small.loop.run()
        assert small.arrived == [(1000, {"term": 7}), (2000, ("new", 2))]
        assert small.b.alive

    def test_the_dead_send_nothing(self, small: Small) -> None:
        small.listen(small.b)
        small.a.crash()
        small.a.crash()
        small.a.send("b", Note(1))
        future = small.a.request("b", Ask(), 10)
        small.loop.run()
        assert small.arrived == []
        assert not future.done

    def test_who_listened_to_the_clock_dies_too(self, small: Small) -> None:
        small.b.clock.on_change(lambda: small.write_down("first life"))
        small.b.crash()
        small.b.clock.step(5)
        small.b.restart(lambda: None)
        small.b.clock.on_change(lambda: small.write_down("second life"))
        small.b.clock.step(5)
        assert small.numbers == ["second life"]

    def test_waits_on_a_dead_host_end_for_others(self, small: Small) -> None:
        futures: list[Any] = [small.b.future(), small.b.scope().future()]
        small.loop.call_at(5, small.b.crash)
        small.loop.run()
        assert [future.value for future in futures] == [Ended("crash"), Ended("crash")]


class TestPause:
    def test_everything_waits_and_then_happens_in_order(self, small: Small) -> None:
        small.listen(small.b)

        async def sleeper() -> None:
            await small.b.sleep(1500)
            small.write_down("step")

        small.b.spawn(sleeper())
        small.b.call_later(1200, small.write_down, "timer")
        small.a.send("b", Note(1))
        small.c.call_later(1000, small.c.send, "b", Note(2))
        small.loop.call_at(500, small.b.pause)
        small.loop.call_at(9000, small.b.resume)
        small.loop.run()
        assert small.arrived == [(9000, 1), (9000, "timer"), (9000, "step"), (9000, 2)]

    def test_a_reply_that_came_in_time_counts_after_the_pause(self, small: Small) -> None:
        serve(small, small.b)
        ask(small, small.a, "b", timeout_us=3000)
        small.loop.call_at(1500, small.a.pause)
        small.loop.call_at(9000, small.a.resume)
        small.loop.run()
        assert small.arrived == [(9000, Answer(1))]

    def test_a_crash_in_a_pause_leaves_nothing_for_the_next_incarnation(self, small: Small) -> None:
        small.listen(small.b)
        small.a.send("b", Note(1))
        small.b.call_later(100, small.write_down, "timer")
        small.b.pause()
        small.loop.run()
        small.b.restart(lambda: small.listen(small.b))
        small.b.resume()
        small.loop.run()
        assert small.arrived == []
