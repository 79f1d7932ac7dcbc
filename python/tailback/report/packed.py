"""Things that lie inside a page rather than beside it: plotly.js, and the data of figures. Compressed, because plotly.js
alone is five megabytes; the page unpacks them with what browsers have for it."""

from __future__ import annotations

import base64
import gzip
from functools import cache


def packed(content: str) -> str:
    """Text as gzip in base64, the same for the same text."""
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode("ascii")


def unpacked(text: str) -> str:
    """The way back."""
    return gzip.decompress(base64.b64decode(text)).decode()


@cache
def plotly_js() -> str:
    """plotly.js from its Python package, packed. The package has one bundle only, the whole of it."""
    from plotly.offline import get_plotlyjs

    return packed(get_plotlyjs())
