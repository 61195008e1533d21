"""An MCP server by the SDK whose tools ask the person, over stdio, or over HTTP at a port.

What it does is in the file `calls` of the folder that `MCP_TEST` names, a line each.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, InputRequiredResult

FOLDER = Path(os.environ["MCP_TEST"])
SEAT = {
    "type": "object",
    "properties": {
        "seat": {"type": "string", "title": "Seat", "minLength": 2, "maxLength": 3},
        "meal": {"type": "string", "enum": ["meat", "none"], "default": "none"},
        "bags": {"type": "integer", "minimum": 0, "maximum": 2},
        "insured": {"type": "boolean", "default": False},
    },
    "required": ["seat", "bags"],
}
security = RequestStateSecurity(keys=["k" * 32])
server = MCPServer("asking", request_state_security=security)


def done(text: str) -> str:
    with (FOLDER / "calls").open("a") as file:
        file.write(f"{text}\n")
    return text


def form(message: str, schema: dict) -> ElicitRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


@server.tool()
def book(flight: str, context: Context) -> str | InputRequiredResult:
    """Book a flight."""
    if context.input_responses is None:
        done(f"asked {flight}")
        requests = {"seat": form(f"Which seat on {flight}?", SEAT)}
        return InputRequiredResult(input_requests=requests, request_state=f"flight {flight}")
    answer = context.input_responses["seat"]
    assert context.request_state == f"flight {flight}"
    if answer.action != "accept":
        return done(f"{answer.action} {flight}")
    done(f"booked {flight} {sorted(answer.content.items())}")
    while not (FOLDER / "go").exists() and flight == "SLOW":
        time.sleep(0.01)
    return f"booked {flight}"


@server.tool()
def pay(context: Context) -> str | InputRequiredResult:
    """Pay, at an address."""
    if context.input_responses is None:
        params = ElicitRequestURLParams(message="Pay first.", url="https://bücher.example/pay?id=7")
        return InputRequiredResult(input_requests={"pay": ElicitRequest(params=params)})
    return done(f"pay {context.input_responses['pay'].action}")


@server.tool()
def unlock(context: Context) -> str | InputRequiredResult:
    """Ask for what it must not, and for something else."""
    if context.input_responses is None:
        secret = {"type": "object", "properties": {"apiKey": {"type": "string"}}}
        colour = {"type": "object", "properties": {"colour": {"type": "string"}}}
        requests = {"key": form("The key, please.", secret), "colour": form("Which colour?", colour)}
        return InputRequiredResult(input_requests=requests)
    return done(" ".join(f"{key}={each.action}" for key, each in sorted(context.input_responses.items())))


@server.tool()
def nag(context: Context) -> InputRequiredResult:
    """Ask for ever."""
    return InputRequiredResult(input_requests={"again": form("Again?", {"type": "object", "properties": {}})})


@server.tool()
def wait(context: Context) -> str | InputRequiredResult:
    """Want nothing but its own state back, three times."""
    times = int(context.request_state or 0)
    done(f"wait {times}")
    return "waited" if times == 3 else InputRequiredResult(request_state=str(times + 1))


@server.tool()
async def count(context: Context) -> str:
    """Say how far it is, until a file is there."""
    while not (FOLDER / "go").exists():
        await context.report_progress(3, 7, "reading\x1b[31m")
        await asyncio.sleep(0.02)
    return "counted"


@server.resource("menu://{day}")
def menu(day: str, context: Context) -> str | InputRequiredResult:
    """What there is to eat, after two questions; paid for, where it is Sunday."""
    given = context.input_responses
    if given is None:
        if day == "sunday":
            params = ElicitRequestURLParams(message="Pay first.", url="https://bücher.example/pay?id=7")
            return InputRequiredResult(input_requests={"pay": ElicitRequest(params=params)})
        return InputRequiredResult(input_requests={"seat": form("Which seat?", SEAT)}, request_state="1")
    if context.request_state == "1":
        done(f"{day} {given['seat'].action}")
        if given["seat"].action != "accept":
            return "nothing"
        again = form("Are you sure?", {"type": "object", "properties": {}})
        seat = given["seat"].content["seat"]
        return InputRequiredResult(input_requests={"sure": again}, request_state=f"2 {seat}")
    return done(f"{day} {context.request_state} {[each.action for each in given.values()]}")


@server.prompt()
def plan(city: str, context: Context) -> str | InputRequiredResult:
    """Plan a day."""
    if context.input_responses is None:
        schema = {"type": "object", "properties": {"food": {"type": "string"}}, "required": ["food"]}
        return InputRequiredResult(input_requests={"food": form("Which food?", schema)})
    answer = context.input_responses["food"]
    return f"A day in {city} with {answer.content['food'] if answer.content else 'nothing'}."


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run()
