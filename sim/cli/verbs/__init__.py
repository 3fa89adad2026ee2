"""The verbs of the command, a file each, and what they share."""
