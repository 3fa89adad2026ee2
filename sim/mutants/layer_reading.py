"""Designs of a layer that read the schema in a way that their post warns of."""

from ddlsim.layer.rules import fences, options, plans, reading
from ddlsim.mutants.base import mutant

mutant(
    "reads_the_schema_at_snapshot",
    "first post: reading the schema on every transaction",
    "index_contents",
    summary="the schema is read in every transaction, without a read conflict",
    under="c1_schema",
    read_schema=reading.whole_schema_at_snapshot,
)
mutant(
    "reads_the_schema_elsewhere",
    "version your schema, with a single version key",
    "opacity",
    summary="after another version key the schema comes from another transaction",
    under="c1b_version",
    read_schema=reading.version_key_then_elsewhere,
)
mutant(
    "keeps_the_schema_untagged",
    "a piece of meta-data that is returned with a get-read-version call",
    "index_contents",
    summary="the schema that the process has is used, whatever came with the read version",
    under="c16_safe",
    read_schema=reading.kept,
)
mutant(
    "ignores_later_metadata_versions",
    "each time the schema is updated, you also update this key",
    "index_contents",
    summary="the metadata version is read without a conflict",
    under="c12_grv",
    read_schema=reading.metadata_version_at_snapshot,
)
mutant(
    "tags_with_the_newest_version",
    "a piece of meta-data that is returned with a get-read-version call",
    "index_contents",
    summary="the schema that is kept is tagged with the newest version that the process has seen",
    under="c16_safe",
    read_schema=reading.metadata_version_wrong_tag,
)
mutant(
    "reads_at_a_cached_version",
    "a piece of meta-data that is returned with a get-read-version call",
    "own_ddl",
    summary="transactions share a read version that is up to grv_cache_ms old",
    under="c16_safe",
    options=options.CACHED_READ_VERSION,
)
mutant(
    "never_waits_for_a_token",
    "If the server doesn't have that version yet, it waits until it does",
    "own_ddl",
    summary="a client that has seen a newer schema is served with an older one",
    under="c4_session",
    admit=fences.always,
)
mutant(
    "commits_without_a_lease",
    "refuse to answer queries if you haven't read the schema within the past minute",
    "two_versions",
    summary="what was sent under a lease commits, however long that takes",
    under="c5_lease",
    fence=fences.unfenced,
)
mutant(
    "commits_across_a_schema_change",
    "adding a READ conflict range",
    "index_contents",
    summary="a transaction has no read conflict on the schema's key",
    under="c16_safe",
    fence=fences.unfenced,
)
mutant(
    "crosses_the_switch",
    "to invalidate any transactions that cross the atomic switchover line",
    "index_contents",
    summary="a transaction has no read conflict on the key of the switch",
    under="c11_future_conflict",
    fence=fences.unfenced,
)
mutant(
    "requires_no_local_schema",
    "the completely atomic cutover semantics",
    "index_contents",
    summary="a transaction does not let the proxy compare the schema's version",
    under="c7_ss_local",
    fence=fences.unfenced,
)
mutant(
    "looks_back_to_the_read_version",
    "a read-conflict-key for a key in the past",
    "index_contents",
    summary="the schema's key conflicts since the read version, not since it was read",
    under="c13_past",
    fence=fences.schema_key,
)
mutant(
    "decodes_newer_rows",
    "a read-conflict-key for a key in the past",
    "data_matches_schema",
    summary="a row of a newer schema is decoded with the schema that the process has",
    under="c13_past",
    newer_row=fences.decode_as_used,
)
mutant(
    "writes_entries_apart",
    "the paper on F1's schema changes: a backfill is a transaction",
    "index_contents",
    summary="a backfill writes its entries in another transaction than it reads the rows in",
    under="c6_f1",
    writes_entries=plans.another,
)
mutant(
    "fills_at_once",
    "the paper on F1's schema changes: delete-only, write-only, public",
    "index_contents",
    summary="an index is public at once, and filled in the same transaction",
    under="c6_f1",
    plan=plans.straight_to_public,
)
mutant(
    "skips_delete_only",
    "the paper on F1's schema changes: delete-only, write-only, public",
    "index_contents",
    summary="an index begins as write-only",
    under="c6_f1",
    plan=plans.without_delete_only,
)
mutant(
    "skips_write_only",
    "the paper on F1's schema changes: delete-only, write-only, public",
    "index_contents",
    summary="an index is filled while it is delete-only, and public then",
    under="c6_f1",
    plan=plans.without_write_only,
)
mutant(
    "fills_too_early",
    "the paper on F1's schema changes: delete-only, write-only, public",
    "index_contents",
    summary="an index is filled while a process may still use it as delete-only",
    under="c6_f1",
    plan=plans.backfill_too_early,
)
