"""The rules that fill the fields of `LayerDesign`, a file for each kind of choice."""
