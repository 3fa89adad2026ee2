"""IEP-98 and IEP-110: the text with the clauses that its own proofs need, and the text alone.

`iep` names the documents' own formula, judgement or flow for every field of `Strategy`; each other
design is `replace(IEP, …)` with a few of them.

`iep_literal` has none of the x clauses. What the code keeps that sounds like one is in the text, or
has no effect without it: messages of the meta storage come in the order of its log, so safe time,
which they carry, moves with the log and not beside it [98.def.3]; and the term of a safe-time
command means nothing where every such command counts [98.x.6].
"""

from dataclasses import replace

from ddlsim.protocol.design import failure_rules, flows, quirk_rules, schema_rules, time_rules
from ddlsim.protocol.schema import renaming
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction import commit_check
from ddlsim.strategies.base import header, strategy

IEP = strategy(
    Strategy(
        header=header(
            "iep",
            "IEP-98 and IEP-110, with the x clauses that their own proofs need",
            "IEP-98, IEP-110",
        ),
        # IEP-98: numbers
        activation_ts=time_rules.at_message_plus_delay,
        completeness_ts=time_rules.operation_less_delay,
        lookup_ts=time_rules.looked_up_at_operation,
        acknowledge_ts=time_rules.activation_plus_skew_rounded,
        acknowledge_known_ts=time_rules.activation_plus_skew_rounded,
        message_delay=time_rules.largest_delay,
        reader_delay_bound=time_rules.agreed_delay,
        clock=time_rules.hybrid_clock,
        takes_part_ts=time_rules.once_the_limit_has_come,
        tick_ts=time_rules.tick_with_new_timestamp,
        publish_safe_time=schema_rules.AFTER_LISTENERS,
        tick_counts=failure_rules.tick_of_its_term,
        stamp_again=failure_rules.new_stamp,
        restored_safe_ts=failure_rules.as_far_as_the_log,
        take_over_clock=failure_rules.merge_last_stamp,
        activation_in_order=failure_rules.after_the_last_activation,
        # placement
        lease_outdated_ts=failure_rules.expired_everywhere,
        keeps_lease=failure_rules.keep_the_laggard,
        accepts_token=failure_rules.same_token,
        # transactions
        partition_stamp=failure_rules.beyond_the_log,
        commit_lease=failure_rules.while_the_lease_lasts,
        repeated_commit_ts=failure_rules.same_decision,
        recovery_outcome=failure_rules.recovery_aborts,
        in_one_phase=failure_rules.single_writes,
        retries_implicit=failure_rules.up_to_ten_times,
        read_ts=failure_rules.safely_in_the_past,
        # IEP-110: numbers
        base_ts=schema_rules.at_enlistment,
        decode_version=schema_rules.as_written,
        primary_initial=schema_rules.as_enlisted,
        run_version=schema_rules.under_initial,
        # IEP-110: judgements
        check_client_version=schema_rules.must_equal_enlisted,
        enlists_again=quirk_rules.client_retry,
        check_operation=schema_rules.must_be_same_schema,
        check_operation_when=schema_rules.ARRIVAL_AND_AFTER_LOCKS,
        check_exists=schema_rules.must_exist,
        check_commit=schema_rules.each_step_forward_compatible,
        check_tuple=schema_rules.not_newer_than_initial,
        judges_commit=schema_rules.judge_every_commit,
        refuses_change=schema_rules.allow_every_conversion,
        rename=renaming.incompatible,
        # flows
        resolve_schema=flows.wait_then_look_up,
        before_statement=flows.metadata_is_complete,
        install=flows.replicate_wait_acknowledge,
        enlist=flows.enlist_once,
        on_activated=flows.mark_at_activation,
        before_commit_ts=flows.await_outstanding_operations,
        commit_schema=commit_check.schema_at_commit_ts,
        validate_one_phase=commit_check.schema_at_the_stamp,
        leader_is_late=flows.write_in_two_phases,
        before_answer=flows.answer_at_once,
    )
)

IEP_LITERAL = strategy(
    replace(
        IEP,
        header=header(
            "iep_literal",
            "IEP-98 and IEP-110 to the letter: none of the x clauses",
            "IEP-98, IEP-110",
        ),
        acknowledge_ts=time_rules.activation_plus_skew,
        acknowledge_known_ts=time_rules.at_once,
        before_statement=flows.whatever_is_known,
        message_delay=time_rules.own_delay,
        reader_delay_bound=time_rules.whatever_delay,
        clock=time_rules.clock_of_this_life,
        stamp_again=failure_rules.first_stamp,
        restored_safe_ts=failure_rules.from_the_beginning,
        tick_counts=failure_rules.any_tick,
        take_over_clock=failure_rules.keep_own_clock,
        activation_in_order=failure_rules.as_planned,
        tick_ts=time_rules.tick_with_current_time,
        publish_safe_time=schema_rules.ON_APPLICATION,
        check_operation_when=schema_rules.ARRIVAL_ONLY,
        before_commit_ts=flows.stamp_at_once,
    )
)
