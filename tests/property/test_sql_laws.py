"""For all texts: either statements come out, or an error with a place inside the text."""

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.sql import SqlError, parse

STATEMENTS = [
    "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, v VARCHAR(5) DEFAULT 'a' NOT NULL) ZONE z",
    "CREATE TABLE t (a DECIMAL(5, 2), CONSTRAINT c CHECK ((a > 0) AND a < 9), PRIMARY KEY (a))",
    "ALTER TABLE t ADD COLUMN (a INT, b TIMESTAMP(3) WITH LOCAL TIME ZONE), DROP COLUMN (c, d)",
    "ALTER TABLE t ALTER COLUMN a SET DATA TYPE BIGINT NOT NULL DEFAULT -42, DROP CONSTRAINT c",
    "ALTER TABLE t RENAME COLUMN a TO \"B\"",
    "CREATE UNIQUE INDEX i ON t USING SORTED (a DESC, b)",
    "CREATE VIEW v AS SELECT a, count(*) FROM t WHERE b = 'x' GROUP BY a",
    "CREATE ZONE z WITH PARTITIONS=5, REPLICAS=3",
    "SELECT a FROM t WHERE id = 1 AND b = X'0a'",
]  # fmt: skip
WORDS = [word for text in STATEMENTS for word in text.split()] + list("();,.'\"*-/=[]{}#$?:5 \n")


def reads(text: str) -> bool:
    """Whether a text is readable; an error must lie within it."""
    try:
        parse(text)
    except SqlError as caught:
        error = caught
    else:
        return True
    lines = text.split("\n")
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    assert error.expected
    return False


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_words_in_any_order_are_read_or_refused(text: str) -> None:
    reads(text)


@given(st.text(max_size=30))
def test_any_characters_are_read_or_refused(text: str) -> None:
    reads(text)


@given(st.sampled_from(STATEMENTS), st.data())
def test_a_damaged_statement_is_read_or_refused(text: str, data: st.DataObject) -> None:
    words = text.split()
    place = data.draw(st.integers(0, len(words) - 1))
    damage = data.draw(st.sampled_from(["drop", "double", "replace"]))
    other = data.draw(st.sampled_from(WORDS))
    kept = {"drop": [], "double": [words[place]] * 2, "replace": [other]}[damage]
    reads(" ".join([*words[:place], *kept, *words[place + 1 :]]))


@given(st.lists(st.sampled_from(STATEMENTS), max_size=5), st.sampled_from([";", " ;\n", ";;"]))
def test_statements_are_read_alike_alone_and_together(texts: list[str], sign: str) -> None:
    together = parse(sign.join(texts))
    assert [one.sql for one in together] == texts
    assert [one.statement for one in together] == [parse(text)[0].statement for text in texts]
