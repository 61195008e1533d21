"""When scheduled prompts are due, and the scheduler (Celery beat) that fires them."""
