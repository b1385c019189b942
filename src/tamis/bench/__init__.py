"""Experiments: workloads run through engines, measured, and set beside published numbers."""
