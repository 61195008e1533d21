"""Benchmarks that anybody with a model can run: scripted people, and what is measured of them."""
