"""Sequence models whose parts can be taken out one at a time, and the thin Lightning modules that train them."""
