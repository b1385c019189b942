"""Stage 1 of matching: indexes that turn an event's pairs into satisfied predicates, one file per index."""
