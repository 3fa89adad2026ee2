"""SQL tables as a layer on the key-value store: its processes, its index states, its designs."""
