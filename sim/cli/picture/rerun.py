"""The messages of a history that was recorded without them: the run is repeated with a trace."""

from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered, MessageSent
from ddlsim.plan.plan import plan
from ddlsim.problems import BadInputError
from ddlsim.scenario.scenario import read
from ddlsim.search.crash import ran

MESSAGES = (MessageSent, MessageDelivered)


def with_messages(history: History) -> History | None:
    """The same history with its messages, run again from its header; itself where it has them.

    Its other events are those of the given history, the same objects. None where the run is not
    repeated: another version of the program wrote the history, or a plug-in is missing.
    """
    return history if _has_messages(history) else repeated(history)


def repeated(history: History) -> History | None:
    """The same as `with_messages`, where the run can be repeated; None where it cannot, although
    the history has its messages.
    """
    header = history.header
    try:
        scenario = read(header.scenario_text, header.scenario, overrides=header.overrides)
        again, _ = ran(plan(scenario, header.seed, trace=True, models=True))
    except BadInputError:
        return None
    if _has_messages(history):
        return history if again.fingerprint() == history.fingerprint() else None
    bare = History(again.header)
    bare.events = [event for event in again.events if type(event) not in MESSAGES]
    if bare.fingerprint() != history.fingerprint():
        return None
    given = iter(history.events)
    again.events = [one if type(one) in MESSAGES else next(given) for one in again.events]
    return again


def _has_messages(history: History) -> bool:
    return any(type(event) in MESSAGES for event in history.events)
