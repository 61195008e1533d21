"""The Grafana board and the alert rules ask for metrics that there are, and Prometheus accepts them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.home import Home
from tests.processes import ROOT
from tests.services import missing
from tests.tools.support import wait_until
from tests.workers.test_up import free_port
from tests.written_home import WrittenHome

RULES = ROOT / "deploy/prometheus/alerts.yml"
BOARD = ROOT / "deploy/grafana/hermes-jobs.json"
SAMPLES_OF_A_FAMILY = re.compile(r"_(?:total|count|sum|bucket)$")


def expressions() -> Iterator[str]:
    """What the rules and the board ask for."""
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        yield from (rule["expr"] for rule in group["rules"])
    for panel in json.loads(BOARD.read_text())["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def test_every_metric_that_is_asked_for_exists(tmp_path: Path) -> None:
    home = WrittenHome(tmp_path)
    home.answered("s1", "t1")
    printed = home.run("run", "metrics").out
    home.close()
    there = {family.name for family in text_string_to_metric_families(printed)}
    asked = {name for text in expressions() for name in re.findall(r"hermes_jobs_\w+", text)}
    assert len(asked) >= 15
    assert {name for name in asked if SAMPLES_OF_A_FAMILY.sub("", name) not in there} == set()


def test_rules_fire_when_they_should(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        missing("promtool (of Prometheus)")
    for words in (["check", "rules", str(RULES)], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run(
            ["promtool", *words], cwd=ROOT / "tests/deploy", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_prometheus_reads_a_home_and_answers_the_board(tmp_path: Path) -> None:
    if shutil.which("prometheus") is None:
        missing("Prometheus")
    port, own = free_port(), free_port()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "home", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}],
    }
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))

    def answer(path: str, **query: str) -> Any:
        with urlopen(f"http://127.0.0.1:{own}/api/v1/{path}?{urlencode(query)}", timeout=30) as response:
            return json.load(response)["data"]

    def is_scraped() -> bool:
        try:
            return bool(answer("query", query="hermes_jobs_up == 1")["result"])
        except (URLError, ConnectionError):
            return False

    def rules() -> list[dict[str, str]]:
        groups = answer("rules")["groups"]
        return groups[0]["rules"] if groups else []

    def is_evaluated() -> bool:
        return {rule["health"] for rule in rules()} == {"ok"}

    home = Home(tmp_path, {})
    arguments = ["--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    with home.start("run", "metrics", "--port", str(port)):
        prometheus = subprocess.Popen(
            ["prometheus", *arguments, f"--web.listen-address=127.0.0.1:{own}"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(is_scraped, "the first sample")
            wait_until(is_evaluated, "the rules")
            for text in expressions():
                asked = text.replace("$instance", ".*").replace("$__rate_interval", "1m")
                assert answer("query", query=asked)["resultType"] == "vector"
            assert len(rules()) == 9
        finally:
            prometheus.terminate()
            prometheus.wait()
