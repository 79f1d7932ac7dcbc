"""Figures prepared for a place inside an HTML page: they take the page's text colour and scale with its width."""

from __future__ import annotations

import re

from tailback.plot.style import INK


def inlined(svg: str, title: str) -> str:
    """The ``<svg>`` element of a file of ours, transparent, in the page's text colour, with an accessible title."""
    body = svg[svg.index("<svg") :]
    head, rest = body.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head) + ' role="img" preserveAspectRatio="xMidYMid meet">'
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    # What stands behind words keeps lines from them.
    rest = re.sub(r"fill: #ffffff; opacity: ([0-9.]+)", r"fill: var(--card); opacity: \1", rest)
    # The first patch is the figure's white background, and each axes has one more.
    rest = re.sub(r"fill: #ffffff", "fill: none", rest)
    rest = rest.replace(INK, "currentColor")
    safe = title.replace("&", "&amp;").replace("<", "&lt;")
    return f"{head}<title>{safe}</title>{rest}"
