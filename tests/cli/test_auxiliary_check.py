"""`doctor` on models of their own for reviews and summaries: only where there are some, and never a key."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.interfaces.cli.doctor.models import auxiliary
from hermes_jobs.settings import load

LOCAL = "http://127.0.0.1:9/v1"
ENVIRON = {"OPENAI_API_KEY": "sk-main-0123456789"}


def test_nothing_is_listed_if_the_main_model_does_everything(tmp_path: Path) -> None:
    assert list(auxiliary(load(ENVIRON, home=tmp_path))) == []


def test_each_auxiliary_model_is_listed_with_its_endpoint_and_the_name_of_its_key(
    tmp_path: Path,
) -> None:
    environ = {
        **ENVIRON,
        "AUXILIARY_REVIEW_API_KEY": "sk-review-0123456789",
        "HERMES_JOBS_AUXILIARY__REVIEW__BASE_URL": LOCAL,
        "HERMES_JOBS_COMPRESSION__SUMMARY_MODEL": "brief",
    }
    told = [finding.message for finding in auxiliary(load(environ, home=tmp_path))]
    assert told == [
        f"review asks gpt-6.1-terra at {LOCAL}, with the key AUXILIARY_REVIEW_API_KEY",
        "compression asks brief at OpenAI, with the key OPENAI_API_KEY",
    ]
