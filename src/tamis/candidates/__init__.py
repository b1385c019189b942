"""Stage 2 of matching: structures that turn satisfied predicates or event pairs into candidate conjunctions."""
