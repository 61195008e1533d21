"""An agent on plain Celery, by its documentation: late acknowledgement, retries, limits, a chord, beat."""

# mypy: ignore-errors

import json
import os
import subprocess
from pathlib import Path

from celery import Celery, chord
from openai import APIError, OpenAI
from redis import Redis

REDIS = os.environ["REDIS_URL"]
app = Celery("plain", broker=REDIS, backend=REDIS)
app.conf.update(
    task_acks_late=True,  # the task of a worker that dies comes back
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,  # long tasks: https://docs.celeryq.dev/en/stable/userguide/optimizing.html
    task_time_limit=float(os.environ.get("LIMIT", "600")),
    broker_transport_options={"visibility_timeout": float(os.environ.get("VISIBILITY", "3600"))},
    broker_connection_retry_on_startup=True,
    beat_schedule={"digest": {"task": "agent", "schedule": 4.0, "args": ["Write the digest."]}},
)


def pay(amount: int) -> str:
    with Path(os.environ["LEDGER"]).open("a") as ledger:
        ledger.write(f"paid {amount}\n")
    return f"{amount} is paid."


def run(command: str) -> str:
    ran = subprocess.run(command, shell=True, check=False, capture_output=True, text=True, timeout=60)
    return ran.stdout + ran.stderr


TOOLS = {"pay": (pay, {"amount": {"type": "integer"}}), "run": (run, {"command": {"type": "string"}})}
SCHEMAS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": fields}}}
    for name, (_, fields) in TOOLS.items()
]


@app.task(name="agent", bind=True, autoretry_for=(APIError,), retry_backoff=True, max_retries=5)
def agent(self, question):
    messages = [{"role": "user", "content": str(question)}]
    while True:
        with OpenAI().chat.completions.stream(model="scripted", messages=messages, tools=SCHEMAS) as stream:
            for event in stream:
                if event.type == "content.delta":  # whoever watches this answer, sees it
                    Redis.from_url(REDIS).publish(f"answer:{self.request.id}", event.delta)
            reply = stream.get_final_completion().choices[0].message
        if not reply.tool_calls:
            return reply.content
        messages.append(reply.model_dump(include={"role", "content", "tool_calls"}))
        for call in reply.tool_calls:
            done = TOOLS[call.function.name][0](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": done})


def research(subjects, question):
    """Sub-agents side by side, and one that makes one answer of theirs."""
    return chord([agent.s(f"Research {subject}.") for subject in subjects])(summarise.s(question))


@app.task(name="summarise")
def summarise(findings, question):
    return agent(f"{question} {json.dumps(findings)}")
