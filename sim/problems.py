"""What is wrong with an input, as against a defect of the program."""


class BadInputError(ValueError):
    """Something that was given cannot be used; the message is one line and ends in a remedy."""
