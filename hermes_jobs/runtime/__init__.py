"""What a working process does apart from Celery: leases, relay, recovery, the inline worker, live text."""
