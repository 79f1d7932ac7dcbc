"""The little mathematics of our labels, which matplotlib sets, as HTML that plotly.js sets."""

from __future__ import annotations

import re

_LETTERS = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "eta": "η",
    "theta": "θ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "phi": "φ",
    "omega": "ω",
    "Delta": "Δ",
    "Sigma": "Σ",
    "times": "×",
    "cdot": "·",
    "leq": "≤",
    "geq": "≥",
    "le": "≤",
    "ge": "≥",
    "pm": "±",
    "infty": "∞",
    "approx": "≈",
    "to": "→",
    "ln": "ln",
    "log": "log",
    "min": "min",
    "max": "max",
}
_WRAPPED = re.compile(r"\\(?:hat|bar|mathrm|mathit|mathbf|text|mathdefault|mathregular|overline)\s*\{([^{}]*)\}")


def marked(text: str) -> str:
    """A label for plotly.js: its special signs escaped, what stands between dollar signs in HTML, lines broken."""
    parts = re.split(r"(?<!\\)\$", text.replace("&", "&amp;").replace("<", "&lt;"))
    told = [_mathematics(part) if place % 2 else part.replace(r"\$", "$") for place, part in enumerate(parts)]
    return "".join(told).replace("\n", "<br>")


def _mathematics(text: str) -> str:
    text = _WRAPPED.sub(r"\1", text)
    text = re.sub(r"\\([A-Za-z]+)\s?", lambda match: _LETTERS.get(match[1], match[1]), text)
    text = re.sub(r"\\[,;!: ]", " ", text).replace("-", "−")
    for sign, tag in (("_", "sub"), ("^", "sup")):
        text = re.sub(rf"\{sign}\{{([^{{}}]*)\}}", rf"<{tag}>\1</{tag}>", text)
        text = re.sub(rf"\{sign}(\w|\*|′)", rf"<{tag}>\1</{tag}>", text)
    return text.replace("{", "").replace("}", "")
