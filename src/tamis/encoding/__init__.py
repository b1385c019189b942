"""The only room where objects become arrays and back: dictionary, keys, and the three columnar batches."""
