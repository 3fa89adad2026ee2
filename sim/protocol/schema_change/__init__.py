"""A client's DDL on its node: built, appended, acknowledged; counting a table's rows."""
