"""Worker processes apart from Celery: leases, relay, recovery, the inline worker, live deltas."""
