"""The Celery application: queues, routes and settings. It carries ids; what is due the log decides.

Acknowledged early and without emulation: redelivery is the log's business (a lost message is sent again by
the relay, a doubled one finds nothing to do), and a worker survives its broker. No result backend, no ETA, no
chord.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.runtime.queues import ALL_QUEUES, QUEUES

if TYPE_CHECKING:
    from celery import Celery

ANSWER_SECONDS = 2.0  # after which a broker that does not answer counts as gone


def make_app(broker_url: str, *, prefix: str) -> Celery:
    """The application on that broker. `prefix` keeps installations that share a Redis apart."""
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
            "priority_steps": [0],  # one list a queue, where kombu would ask for four
            "max_retries": 0,  # a publish tries once; only a consumer goes on until it is connected
            "socket_connect_timeout": ANSWER_SECONDS,
            "socket_timeout": ANSWER_SECONDS,
            "socket_keepalive": True,
        },
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a primary that has become a replica, or may not write for now
        broker_connection_timeout=ANSWER_SECONDS,
        # workers
        worker_pool="threads",
        worker_send_task_events=True,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=True,
    )
    return app
