"""Models of replicas: rows, intents and entries, reads in the past, submissions."""
