"""What a design chooses: the fields of Strategy and the rules that fill them."""
