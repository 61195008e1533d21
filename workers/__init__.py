"""Processes around Celery: the worker, beat, Flower, the embedded broker, and their supervisor."""
