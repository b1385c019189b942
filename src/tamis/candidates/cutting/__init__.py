"""Two-phase space cutting: the structure of BE-Tree.

A node keeps a bucket of rows. When the bucket grows past its limit the node is cut, in two phases. *Clustering*: a node
that stands for cells lo..hi of an attribute's domain is halved; rows whose interval lies in one half move there, rows that
span the cut stay. *Partitioning*: an attribute no node above uses, popular among the bucket's rows, opens a child over its
whole domain, and the rows that name it move there; attributes come in the order of their popularity, and only while what a
partition takes out of the bucket is worth a further visit. An event visits the partitions of its attributes and the
halves its values touch. Removal is the inverse: empty nodes go, and a subtree that has shrunk becomes one bucket again.
"""
