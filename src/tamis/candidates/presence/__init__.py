"""Restricted search trees over presence: the structure behind TreeMatch and RAPIDMatch.

Property i of an event is "attribute i is present". A conjunction asks 1 of every attribute it constrains, 0 of those it
wants missing and nothing (*) of the others; its *literals* are those ones and zeros in the order of properties. A search
tree tests properties in a fixed order, and an event follows its own value and *. Here chains of * are left out and paths
without a fork are compressed, so a node stands for a run of literals, read from any one row below it (`row`), and an edge
is known by its first literal. A tree is a function of the rows it holds: no order of changes leaves a trace.

RAPIDMatch(c) keeps a forest. For an event with t <= c ones, split the k properties into t+1 consecutive blocks: one has
no 1. Tree (t, j) holds the rows with at most t ones, at least t ones or stars, and no 1 in block j, which such an event
satisfies in all of block j; so the tree leaves the block out, and starts after it. The last tree holds the rows that can
match an event with more than c ones, on all properties. With c = -1 only that tree is left, and it is TreeMatch.
"""
