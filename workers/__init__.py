"""Processes around Celery: the worker, the scheduler, Flower, the embedded broker, and their supervisor."""
