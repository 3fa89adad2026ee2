"""Databases that are recorded, a file each: how to connect, and their SQL where it differs."""
