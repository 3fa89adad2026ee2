"""Designs side by side, under equal clients, statements, faults and delays."""
