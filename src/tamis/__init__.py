"""Content-based publish/subscribe.

Subscribers leave standing conditions, publishers send events, and tamis finds every condition an event satisfies::

    item = 'camera' and price < 300          a subscription: any boolean combination of predicates
    {"item": "camera", "price": 199}         an event: attribute = value pairs

A database holds data and answers queries as they come; here it is the other way round. The queries are what is stored,
perhaps millions of them, and the data flows past. Looking at every stored condition for every event would be far too
slow, so the work is split: an event selects the *predicates* it satisfies, those select the *candidates* that may
match, a last check leaves the *matches*, and the owners of the matches are *notified*. The folders of this package
follow that path, and every algorithm in ``engines`` is one way to walk it with less work.

Meaning does not depend on the algorithm. ``model.evaluate`` states it in plain Python, and every engine is held to it.
"""
