"""Recorded turns asked again: replays, experiments and verifications."""
