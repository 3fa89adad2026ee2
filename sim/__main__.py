"""`python -m sim`: the command line."""

import sys

from ddlsim.cli import main

if __name__ == "__main__":
    sys.exit(main())
