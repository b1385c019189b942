"""Matching algorithms, one file each, behind one interface (`base.py`) and one registry of names."""
