"""`python -m mcs`."""

from mcs.cli.main import main

main()
