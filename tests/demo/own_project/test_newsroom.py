"""The newsroom without a broker, workers or a model: tasks run eagerly, the model follows a script."""

import pytest

import newsroom
from hermes_jobs.testing import Answer, ToolCall, scripted_model

ANSWERS = [
    Answer(tool_calls=(ToolCall("published", {"word": "storm"}),)),
    "The storm goes on.",
]


@pytest.fixture
def model(tmp_path, monkeypatch):
    newsroom.app.conf.update(task_always_eager=True, task_eager_propagates=True)
    monkeypatch.setattr("newsroom.PUBLISHED", tmp_path / "published.txt")
    monkeypatch.setattr("newsroom_tools.PUBLISHED", tmp_path / "published.txt")
    with scripted_model(ANSWERS) as model:
        for name, value in {**model.environ, "HERMES_JOBS_HOME": str(tmp_path / "home")}.items():
            monkeypatch.setenv(name, value)
        yield model


def test_the_agent_reads_what_was_published_and_its_summary_is_published(model, tmp_path):
    (tmp_path / "published.txt").write_text("A storm begins.\nThe sun shines.\n")
    (tmp_path / "page.txt").write_text("It storms.")
    assert newsroom.news(str(tmp_path / "page.txt")).apply_async().get() == "The storm goes on."
    assert "It storms." in model.requests[0].last_user_text
    assert "A storm begins." in model.requests[1].messages[-1]["content"]
    assert "The sun shines." not in model.requests[1].messages[-1]["content"]
    assert (tmp_path / "published.txt").read_text().endswith("The storm goes on.\n")
