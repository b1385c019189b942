"""Clusters under access keys: every conjunction is filed where an event is least likely to look.

An *access key* is something an event must have for the conjunction to hold: a value, one of a few values, a value in a
cell of the attribute's range, an attribute, or two of these together. `choose` picks the key an event is least likely to
hit. All conjunctions under one key form a *cluster*, laid out contiguously: `records` holds one conjunction after the other,
`blocks` compares 32 that share attributes at once. `probe` finds the clusters of an event.
"""
