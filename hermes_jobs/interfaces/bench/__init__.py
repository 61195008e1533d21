"""Benchmarks for any model: scripted users, and measurements."""
