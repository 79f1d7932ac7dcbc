"""Where ``tailback`` and ``python -m tailback`` begin: the command line is in ``cli``. Nothing else lives here."""

import sys


def main() -> None:
    """The entry point. Whoever stops it while it is still being imported gets a word and no traceback."""
    try:
        from tailback.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("tailback: stopped\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
