"""Data the shipped operators use: rough outlines of New York City's boroughs, some places there, a small ontology."""
