"""A match server: subscribe, renew, publish, get notified, over the network and durably.

The rules are in `core` and touch neither disk nor socket. `store` keeps rows in SQLite, and `writer` is the one thread that
changes them: it runs what waits as a group, commits it with one sync, and answers only then. `service` puts these on an event
loop, `delivery` brings notifications out, `api` is HTTP. `client` speaks to it; `testing` is a broker in memory with the same
interface.
"""
