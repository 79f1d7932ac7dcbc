"""How Sphinx builds the documentation: Markdown, no network, no fonts or scripts from elsewhere."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Tailback"
author = "The Tailback authors"
project_copyright = "2026, the Tailback authors"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "generated",
    "line_breaks",
    "whole_attributes",
]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "generated/scenario.md"]

html_theme = "furo"
html_title = "Tailback"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False

# The types of a scenario's parts are unions of dozens; what may be written is said in words, and checked by mypy.
autodoc_typehints = "none"
smartquotes = False  # It would make one dash of an option's two.
autodoc_member_order = "bysource"
# Links in the README point into docs/; the pages themselves link to each other.
suppress_warnings = ["myst.header"]
