"""Rewrites from a condition to its simplified normal form, one per file; `order.py` says in which order they run.

All of them keep the meaning on *every* event: attributes may carry lists (a predicate holds if any value satisfies it) and
values of any kind, unless a publication type declares otherwise. What they lean on:

- after negation is pushed down, a condition matches exactly if some conjunction has every literal true, so a literal may be
  replaced by any other that is true for the same events;
- a positive literal says *some* value lies in the predicate's set, a negated one that the attribute is present and *no*
  value does. Hence a positive literal implies every positive one with a larger set, a negated literal every negated one
  with a smaller set, and a positive literal contradicts a negated one with a larger set;
- two positive literals on a list may be satisfied by two different values, so `a > 20 and a < 10` is only a contradiction
  when the type declares `a` to hold one value.
"""
