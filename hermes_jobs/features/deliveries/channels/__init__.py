"""Delivery of answers to their targets: one channel per kind of target."""
