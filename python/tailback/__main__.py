"""``python -m tailback`` is the command line, as ``tailback`` is. Nothing else lives here."""

from tailback.cli import main

main()
