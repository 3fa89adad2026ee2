"""SQL statements in, schema changes out."""
