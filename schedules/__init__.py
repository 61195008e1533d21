"""Times in words and in the calendar, and the scheduler (Celery beat).

Schedules themselves are in `hermes_jobs/features/schedules`.
"""
