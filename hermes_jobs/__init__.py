"""hermes-jobs: a personal agent that learns, run as an event-sourced job system."""

__version__ = "0.1.0"
