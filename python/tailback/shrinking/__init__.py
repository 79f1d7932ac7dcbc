"""Smaller scenarios that still show something: what is smaller in ``smaller.py``, the search in ``search.py``, conditions
as people write them in ``condition.py``."""
