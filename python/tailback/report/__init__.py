"""HTML pages about results that work without a network: one folder, no script or font from elsewhere."""

from tailback.report.build import write_report

__all__ = ["write_report"]
