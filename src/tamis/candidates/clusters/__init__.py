"""Conjunctions grouped under access predicates and stored by columns: how they get there, and how they are checked."""
