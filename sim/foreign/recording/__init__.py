"""Recordings of real databases, judged by what their databases document."""
