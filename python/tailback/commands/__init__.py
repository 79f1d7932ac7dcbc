"""What the commands of ``tailback.cli`` do and print."""
