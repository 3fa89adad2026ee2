"""Designs of a layer whose schema updates leave out a key, or do not wait."""

from ddlsim.layer.rules import publishing, waiting
from ddlsim.mutants.base import FDB, mutant

METADATA = "each time the schema is updated, you also update this key"

mutant(
    "bumps_no_metadata_version",
    METADATA,
    "index_contents",
    summary="an update of the schema leaves the metadata version as it was",
    under="c12_grv",
    publish=publishing.head,
)
mutant(
    "keeps_its_own_change_at_once",
    METADATA,
    "atomicity",
    summary="a process uses the schema of its update before it knows that it has committed",
    under="c12_grv",
    own_change=publishing.keep_at_once,
)
mutant(
    "updates_half_of_the_copies",
    "updating all copies whenever the schema changes",
    "index_contents",
    summary="an update writes half of the copies of the schema",
    under="c3_copies",
    publish=publishing.head_and_half_of_the_copies,
)
mutant(
    "forgets_a_version_key",
    "pick a schema version key at random",
    "index_contents",
    summary="an update leaves out the last copy of the schema's version",
    under="c3b_versions",
    publish=publishing.head_and_version_keys_but_one,
)
mutant(
    "tells_no_storage_server",
    "Do commits that push to this space on every storage server",
    "index_contents",
    summary="an update is not written where every storage server holds the schema's version",
    under="c7_ss_local",
    publish=publishing.head,
)
mutant(
    "reserves_no_future_version",
    "a write-conflict-key in the future",
    "index_contents",
    summary="an update has no write conflict at the version at which it comes into force",
    under="c11_future_conflict",
    publish=publishing.head,
)
mutant(
    "acknowledges_before_the_version",
    "using the commit version of the schema-updating transaction",
    "own_ddl",
    summary="a statement is acknowledged before its update is in force",
    under="c9_future_cv",
    settle=waiting.at_once,
)
mutant(
    "anchors_at_the_read_version",
    "using the commit version of the schema-updating transaction",
    "atomicity",
    summary="an update is in force a distance after its read version",
    under="c9_future_cv",
    activation=publishing.after_read_version,
)
mutant(
    "switches_without_a_drain",
    "This only works if you can be certain that all of your application instances switch over",
    "index_contents",
    summary="a statement does not wait for transactions that began in optimistic mode",
    under="c14_modes",
    plane=FDB,
    before_statement=waiting.all_pessimistic_undrained,
)
mutant(
    "goes_on_after_a_time",
    "This only works if you can be certain that all of your application instances switch over",
    "index_contents",
    summary="a statement gives processes some time to switch to pessimistic mode, and goes on",
    under="c14_modes",
    plane=FDB,
    before_statement=waiting.pessimistic_in_time,
)
mutant(
    "switches_back_to_an_old_schema",
    "Then you switch your application back to optimistic mode",
    "index_contents",
    summary="a process goes back to optimistic mode with the schema that it had before",
    under="c14_modes",
    background=(waiting.follow_the_mode_stale,),
)
mutant(
    "arms_its_watch_later",
    "Storing the schema in some sort of a log structure and using a watch",
    "own_ddl",
    summary="a watch is armed in a later transaction than the one that has read",
    under="c2_watch",
    background=(waiting.watch_armed_later,),
)
