"""Matching inside a database: the engine and the two databases it speaks to."""
