"""Attribute structures and buckets: the organisation of PUBSUB (paper 004, section 3).

A *bucket* holds rows. A *structure* belongs to a bucket and an attribute, and spreads rows over buckets of its own by what
they ask of the attribute, through one of the ways D below. Rows take their attributes in a fixed order: a bucket reached
through k structures holds rows whose first k attributes are those of the structures. One hash table finds structures by
(bucket, attribute). The header, bucket 0, has a structure for every attribute that is some row's first.

A structure is one bucket until it holds more rows than a bucket should; then D spreads them. A bucket with more rows than
it should, which D cannot tell apart, hands those with a further attribute to structures below it, and keeps the others,
however many. Removal undoes both. So the whole is a function of the rows it holds: no order of changes leaves a trace.

    D = HASH    a bucket for each constant asked for by equality, and one for all else
    D = IT      an interval tree over the cells of a finite domain: a bucket for the intervals kept at one node
    D = RBPST   a red-black priority search tree: a bucket for the intervals with one *hull*, the smallest aligned
                power-of-two range of keys around them; a hull is a point (lo, hi), and a value v finds lo <= v <= hi
"""
