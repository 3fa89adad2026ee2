"""Models of transactions: clients, coordinators, participants, operations and locks."""
