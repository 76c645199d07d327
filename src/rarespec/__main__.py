"""`python -m rarespec` is `rarespec`."""

from rarespec.cli import main

main()
