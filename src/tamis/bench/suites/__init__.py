"""Suites of measurements, one file each."""
