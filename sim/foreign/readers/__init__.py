"""External histories: files in, transactions out."""
