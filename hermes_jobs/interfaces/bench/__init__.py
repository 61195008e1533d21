"""Benchmarks that anybody with a model can run: scripted users, and what is measured of them."""
