"""`python -m gpugrad`: the command line, for those whose scripts folder is not on PATH."""

import sys

from .cli import main

sys.exit(main())
