"""Items of Widmer, Mauve and Damm, probabilistic congestion control for non-adaptable flows."""
