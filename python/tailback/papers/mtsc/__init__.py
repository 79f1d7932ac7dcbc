"""Items of Tuan and Park, multiple time scale congestion control for self-similar network traffic."""
