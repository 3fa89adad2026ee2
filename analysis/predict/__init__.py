"""What a recorded database is predicted to do under DDL, and what it did."""
