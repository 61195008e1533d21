"""Durations, aliases and prices in the settings."""

import pytest

from hermes_jobs.errors import Misconfigured
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.llm.price import Price
from hermes_jobs.settings import load, set_value
from hermes_jobs.settings.durations import seconds_of
from hermes_jobs.settings.edit import Draft


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("0", 0), ("90", 90), ("90s", 90), ("1.5m", 90), ("6h", 21_600), ("2d", 172_800)],
)
def test_a_duration_is_a_number_with_its_unit(tmp_path, written, seconds):
    settings = load({"HERMES_JOBS_MODEL__WAIT_FOR_QUOTA": written}, home=tmp_path)
    assert seconds_of(settings.model.wait_for_quota) == seconds


def test_timeouts_and_reasoning_have_defaults(tmp_path):
    model = load({}, home=tmp_path).model
    assert (model.provider, model.reasoning_effort, model.fallback) == ("auto", None, ())
    assert (model.idle_timeout, model.timeout) == (120, None)
    assert seconds_of(model.wait_for_quota) == 6 * 3600


def test_config_set_takes_the_name_of_a_model_with_dots(tmp_path):
    set_value(tmp_path, "models.prices.gpt-5.1", "{input: 1, output: 8, cache_read: 0.1}")
    set_value(tmp_path, "models.prices.qwen3", "0")
    set_value(tmp_path, "models.aliases.fast", "gpt-6.1-terra")

    models = load({}, home=tmp_path).models
    assert models.prices == {"gpt-5.1": Price(1, 8, 0.1), "qwen3": 0}
    assert models.aliases == {"fast": "gpt-6.1-terra"}


def test_a_price_covers_each_kind_of_token_and_cached_ones_default_to_input():
    usage = Usage(1_000_000, 2_000_000, 3_000_000, 4_000_000)
    assert Price(1, 10).cost_usd(usage) == 1 + 20 + 3 + 4
    assert Price(1, 10, 0.1, 1.25).cost_usd(usage) == pytest.approx(1 + 20 + 0.3 + 5)


def test_an_ensemble_within_another_one_is_refused_before_it_is_written(tmp_path):
    set_value(tmp_path, "models.panel", "{members: [a, b], aggregator: c}")
    before = (tmp_path / "config.yaml").read_text()
    with pytest.raises(Misconfigured, match=r"models\.more: 'panel' is an ensemble itself"):
        set_value(tmp_path, "models.more", "{members: [panel], aggregator: c}")
    draft = Draft(tmp_path)
    draft.path.write_text(f"{before}  more: {{members: [a], aggregator: panel}}\n")
    with pytest.raises(Misconfigured, match="is an ensemble itself"):
        draft.accept()
    assert (tmp_path / "config.yaml").read_text() == before
    assert list(load({}, home=tmp_path).models.ensembles) == ["panel"]
