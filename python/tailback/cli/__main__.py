"""``python -m tailback.cli``: the command line. Nothing else lives here."""

from tailback.cli import main

if __name__ == "__main__":
    main()
