"""Experiments: workloads run through engines, measured, and set beside published numbers.

A *suite* is a TOML file: workloads, the engines put on them, the figures drawn from the results, what the paper measured and
claimed. `spec` turns it into *runs* (one engine on one workload), `runner` gives each run a process of its own (`child`) and
keeps its raw result as a file, `measure` and `kinds` are what happens in that process. Everything shown (`plots`, `claims`,
`overview`, `report`, `compare`) is derived from the files.
"""
