"""The machine under the nodes: SimPy, clocks, network, hosts."""
