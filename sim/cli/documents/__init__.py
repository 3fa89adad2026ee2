"""What a machine reads: JSON documents and their schemas, reports for CI systems."""
