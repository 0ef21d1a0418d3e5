"""`python -m remit.cli`: the command where its script is not at hand."""

import sys

from remit.cli.entry import main

sys.exit(main())
