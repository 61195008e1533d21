"""A user's Celery application, for its workers in tests; the environment says where everything is."""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery

from hermes_jobs.celery import register

app = Celery("own", broker=os.environ["BROKER"], backend=os.environ["RESULTS"], set_as_current=False)
app.conf.task_default_queue = os.environ["QUEUE"]
app.conf.broker_connection_retry_on_startup = True
turn = register(app, longest_poll=0.5)


@app.task
def fetch(url: str) -> str:
    return f"the page {url}"


@app.task
def publish(text: str) -> str:
    with Path(os.environ["PUBLISHED"]).open("a") as file:
        file.write(f"{text}\n")
    return text
