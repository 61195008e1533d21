"""The Celery application: queues, routes and settings. Messages carry step ids; the log decides what is due.

Early acknowledgement, without its emulation in Redis: the log covers redelivery (the relay resends a lost
message, a duplicate finds no due step), and a worker survives its broker. No result backend, no ETA, no
chord.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.runtime.queues import ALL_QUEUES, QUEUES

if TYPE_CHECKING:
    from celery import Celery

ANSWER_SECONDS = 2.0  # seconds until a broker without an answer counts as unreachable


def make_app(broker_url: str, *, prefix: str) -> Celery:
    """The application on that broker. `prefix` separates applications that share a Redis."""
    from celery import Celery
    from kombu import Queue

    from workers.worker_events import WorkerEvents

    app = Celery("hermes-jobs", broker=broker_url, events=WorkerEvents, set_as_current=False)
    app.conf.update(
        # messages
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        result_backend=None,
        enable_utc=True,
        timezone="UTC",
        # queues
        task_queues=[Queue(name, routing_key=name) for name in ALL_QUEUES],
        task_default_queue="recovery",
        task_routes={task: {"queue": queue} for task, queue in QUEUES.items()},
        task_create_missing_queues=False,
        # delivery
        task_acks_late=False,
        task_publish_retry=False,
        worker_prefetch_multiplier=1,
        broker_transport_options={
            "global_keyprefix": prefix,
            "ack_emulation": False,
            "priority_steps": [0],  # one list per queue, where kombu would use four
            "max_retries": 0,  # a publish is tried once; only a consumer retries until it is connected
            "socket_connect_timeout": ANSWER_SECONDS,
            "socket_timeout": ANSWER_SECONDS,
            "socket_keepalive": True,
        },
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a primary that became a replica, or is read-only for now
        broker_connection_timeout=ANSWER_SECONDS,
        # workers
        worker_pool="threads",
        worker_send_task_events=True,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=True,
    )
    return app
