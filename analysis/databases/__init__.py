"""The study of real databases: what they show while tables are changed, and what it costs."""
