"""How pages are made and written: the template's surroundings, and what every page says about its making."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from tailback.report.packed import plotly_js
from tailback.results import files
from tailback.results.files import make_folder, write_file
from tailback.results.versions import versions

_GENERATOR = '<meta name="generator" content="tailback report">'
"""Stands in the head of the template ``study.html``."""


def expect_room(folder: Path) -> None:
    """Refuses a folder that holds something else than a page about runs, which a new one may replace; that of
    ``tailback reproduce`` is another.

    Raises:
        StorageError: for such a folder, and where none can be made.
    """
    files.expect_room(folder, mine=_is_report)


@contextmanager
def room(folder: Path) -> Iterator[Path]:
    """Where a page is written: beside a folder that is not there yet, so that it appears whole or not at all and one that
    was stopped is in nobody's way; into one that holds a page already.

    Raises:
        StorageError: where writing fails.
    """
    if folder.is_dir() and any(folder.iterdir()):
        yield folder
        return
    with files.new_folder(folder, mine=_is_report) as beside:
        yield beside


def _is_report(folder: Path) -> bool:
    try:
        with (folder / "index.html").open(encoding="utf-8") as page:
            return _GENERATOR in page.read(2000)
    except (OSError, UnicodeDecodeError):
        return False


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
