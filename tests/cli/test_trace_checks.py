"""What `doctor` says of traces: whether they are wanted, and whether the collector takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.home import Home
from tests.telemetry.collector import Collector


def told(home: Home, **environ: str) -> tuple[str, str]:
    """The status and the message of the check."""
    done = home.run("doctor", "--json", **environ)
    [check] = [each for each in done.json["checks"] if each["check"] == "traces"]
    assert bool(check["hint"]) is (check["status"] != "ok")
    assert "geheim9" not in done.out + done.err
    return check["status"], check["message"]


@pytest.mark.slow
def test_doctor_sends_a_collector_nothing_and_says_whether_it_was_taken(tmp_path: Path) -> None:
    home, collector = Home(tmp_path, {}), Collector()
    try:
        status, message = told(home, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
        assert (status, message) == ("ok", f"{collector.url} takes them")
        assert (len(collector.headers), collector.spans) == (1, [])
        wrong = f"{collector.url.replace('//', '//agent:geheim9@')}/nowhere"
        status, message = told(home, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=wrong)
        assert status == "warn"
        assert "code: 404" in message
    finally:
        collector.close()
    status, message = told(home, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert status == "warn"
    assert "Connection refused" in message
    assert told(home)[0] == "ok"
