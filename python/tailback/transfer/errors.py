"""What ends a transfer without its file."""

from tailback.errors import TailbackError


class TransferError(TailbackError):
    """A transfer has ended without its file; the message says why."""
