"""A client's DDL on its node: built, appended, acknowledged; where tables are looked up."""
