"""Renyi curves: ``curve`` is the type; a user's own, those of groups and those of tuned runs are made from others."""
