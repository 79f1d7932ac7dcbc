"""Figures: vector by default, fit for print, readable in grey. matplotlib is imported only when this is."""

from tailback.plot.accessor import Plots
from tailback.plot.style import figure, save, style

__all__ = ["Plots", "figure", "save", "style"]
