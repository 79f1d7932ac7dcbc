"""What ends a transfer without its file, or with one that is another by now."""

from tailback.errors import TailbackError


class TransferError(TailbackError):
    """A transfer has ended without its file; the message says why."""


class ChangedError(TailbackError):
    """A file has arrived as it was offered, and is another one at the sender by now."""
