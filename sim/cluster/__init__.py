"""A plan to a history: nodes, clients and faults on the kernel."""
