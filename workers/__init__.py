"""Processes around Celery: the worker, the scheduler, Flower, the embedded broker, and their supervisor.

`celery -A workers inspect ping` and the like find the application of the home as `workers.celery`.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "celery":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from workers.celery_app import application_of_home

    return application_of_home()
