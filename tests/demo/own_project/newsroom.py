"""A newsroom on Celery: pages are read, summarised by the agent, and published."""

import os
import sys
from pathlib import Path

from celery import Celery, group

from hermes_jobs.celery import register
from newsroom_tools import PUBLISHED

REDIS = os.environ.get("NEWSROOM_REDIS", "redis://127.0.0.1:6379/0")

app = Celery("newsroom", broker=os.environ.get("NEWSROOM_BROKER", REDIS), backend=REDIS)
app.conf.task_default_queue = "newsroom"
# Seconds after which Redis gives on what a killed worker held; an hour unless it is set.
app.conf.broker_transport_options = {"visibility_timeout": 60}
turn = register(app)


@app.task
def fetch(page: str) -> str:
    return Path(page).read_text()


@app.task
def publish(line: str) -> str:
    with PUBLISHED.open("a") as file:
        file.write(f"{line}\n")
    return line


def news(page: str):
    """The chain of one page: a summary in the conversation `news`, which is published."""
    return fetch.s(page) | turn.s("Summarise in one line: {0}", session="news") | publish.s()


def compared(pages: list[str]):
    """All pages side by side, each in a conversation of its own; then one that compares them."""
    each = group(fetch.s(page) | turn.s("Summarise in one line: {0}") for page in pages)
    return each | turn.s("Which of these is more important? {0}") | publish.s()


if __name__ == "__main__":
    pages = sys.argv[1:]
    chain = news(pages[0]) if len(pages) == 1 else compared(pages)
    print(chain.apply_async().get(timeout=600))
