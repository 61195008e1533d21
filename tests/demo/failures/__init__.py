"""Ten failures of agents on Celery, played with real processes: a plain agent, and hermes-jobs."""
