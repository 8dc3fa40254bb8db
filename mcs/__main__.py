"""`python -m mcs`."""

from mcs.cli.main import main

if __name__ == "__main__":
    main()
