"""Operators: predicates that cost something, such as a detector, a map, a database or a reasoner.

An operator is a Python callable applied to the event. Written `name(arguments…)` in a condition, it answers false, true, or
the values its variables may take::

    locIn('Bronx') and pedestrianCount(?n) and ?n > 50

A condition holds if one joint substitution of the variables satisfies all its operators and constraints. Because operators
are dear, they run only for subscriptions whose cheap predicates hold, each distinct predicate at most once per event, in
the order that decides most for least (`candidates/schedule`). Because they are other people's code, they may be run in a
process of their own, under limits; one that misbehaves makes its predicate unknown and harms nothing else.
"""

from tamis.operators.registry import OPERATORS, Operator, Registry, operator

__all__ = ["OPERATORS", "Operator", "Registry", "operator"]
