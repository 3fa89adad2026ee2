"""`run` names the constraints that are kept as text only."""

from ddlsim.scenario.scenario import read
from ddlsim.scenario.unenforced import unenforced

TEXT = """
step = [
  { id = "d", client = "c", at_ms = 20, node = "n1", ddl = "ALTER TABLE t ADD CHECK (v+2 > 0)" },
]

[protocol]
preset = "ignite3_tests"

[schema]
sql = '''
CREATE TABLE t (id INT PRIMARY KEY, v INT UNIQUE, w INT CHECK (w > 0));
CREATE TABLE u (id INT PRIMARY KEY REFERENCES t (id), v INT CHECK (v + 1 > 0))'''

[[migration]]
at_ms = 10
sql = "ALTER TABLE t ADD CONSTRAINT c CHECK (w * 2 > 0); ALTER TABLE t ADD CHECK (w < 9)"
"""


def test_foreign_keys_and_other_expressions_are_not_enforced() -> None:
    assert unenforced(read(TEXT, "some.toml")) == [
        "FOREIGN KEY (id) REFERENCES t (id)",
        "CHECK (v + 1 > 0)",
        "CHECK (w * 2 > 0)",
        "CHECK (v+2 > 0)",
    ]
