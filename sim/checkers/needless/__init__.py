"""What a run did without need: waits, refusals and aborts, and their grounds."""
