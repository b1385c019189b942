"""The frozen vocabulary (types, predicates, conditions, events) and its meaning in plain Python."""
