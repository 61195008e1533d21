"""Replays of recorded model calls: plan, outcomes, and differences."""
