"""`python -m ddlsim`, and the command `ddlsim`."""

import sys


def main() -> int:
    """The exit code of this process; an interrupt counts from the first import on."""
    try:
        from ddlsim.cli import main as command
    except KeyboardInterrupt:
        sys.stderr.write("ddlsim: interrupted\n")
        return 130
    return command()


if __name__ == "__main__":
    sys.exit(main())
