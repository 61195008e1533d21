"""What a turn requires of those who run its tools."""

from hermes_jobs.bootstrap.workers import of_tools


def test_keys_of_models_are_not_for_tools_and_those_of_searches_are() -> None:
    requires = {
        "OPENAI_API_KEY": "a",
        "model.base_url": "b",
        "BRAVE_API_KEY": "c",
        "web.search.base_url": "d",
        "terminal.allow": "e",
    }
    assert of_tools(requires) == {"BRAVE_API_KEY": "c", "web.search.base_url": "d", "terminal.allow": "e"}
