"""Plain second implementations beside the processes of the FoundationDB plane (I12)."""
