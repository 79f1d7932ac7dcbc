"""The papers: a ledger of what they claim, and one file per table or figure that rebuilds and judges it.

``tailback reproduce`` runs these. An item of the ledger is built when its file exists: ``mtsc/fig-5`` is
``papers/mtsc/fig_5.py``.
"""
