"""`python -m ablations` and the console script are the same program."""

import sys

from ablations.cli import main

if __name__ == "__main__":
    sys.exit(main())
