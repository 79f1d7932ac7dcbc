"""What every worker process needs, imported once by the fork server."""

import numpy  # noqa: F401 (for those who come after)
import polars  # noqa: F401 (likewise)

import tailback._core
import tailback.results
import tailback.scenario  # noqa: F401 (likewise)
