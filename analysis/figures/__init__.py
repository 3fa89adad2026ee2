"""Figures and the report's page."""
