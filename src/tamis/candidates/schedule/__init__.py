"""Scheduling of expensive predicates: which to evaluate next, so that few are evaluated at all.

A *chain* is a conjunction of literals over expensive predicates. Chains share predicates, one false predicate decides
every chain that holds it, and nothing has to be evaluated that no undecided chain needs. `chains.py` keeps the chains and
the links between equal predicates, `order.py` decides which chain comes first, `run.py` walks them for one event.
"""
