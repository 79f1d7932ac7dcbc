"""How pages are made and written: the template's surroundings, and what every page says about its making."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from tailback.report.packed import plotly_js
from tailback.results.files import make_folder, write_file
from tailback.results.versions import versions


def write_page(
    template: str, target: Path, context: Mapping[str, Any], *, interactive: bool, **filters: Callable[..., Any]
) -> Path:
    """Renders a template of ours into a page that stands alone.

    Args:
        template: its name.
        target: where to.
        context: what it shows.
        interactive: whether any figure wants plotly.js, which makes a page two megabytes larger.
        filters: for the template.

    Raises:
        StorageError: where writing fails; an older page is then still there.
    """
    environment = Environment(
        loader=PackageLoader("tailback.report"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    about = {
        "versions": versions(),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "plotly": plotly_js() if interactive else "",
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }
    page = environment.get_template(template).render({**about, **context})
    make_folder(target.parent)
    write_file(target, lambda path: path.write_text(page, encoding="utf-8"))
    return target
