"""Writing several keys and secrets at once."""

import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings import load, set_up
from hermes_jobs.settings.env_file import with_variable
from hermes_jobs.settings.sources import read_env_file

KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


def test_keys_and_secrets_are_written_together(tmp_path):
    set_up(tmp_path, {"model.provider": "groq", "models.prices.x/y.z": "0"}, {"GROQ_API_KEY": "gsk_123456"})
    settings = load({}, home=tmp_path)
    assert settings.model.provider == "groq"
    assert settings.models.prices == {"x/y.z": 0}
    assert settings.secrets.get("GROQ_API_KEY") == "gsk_123456"
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600


def test_a_wrong_value_leaves_both_files_as_they_were(tmp_path):
    (tmp_path / "config.yaml").write_text("model: {model: old}\n")
    with pytest.raises(Misconfigured):
        set_up(tmp_path, {"model.model": "new", "model.provider": "nobody"}, {"GROQ_API_KEY": "gsk_123456"})
    assert (tmp_path / "config.yaml").read_text() == "model: {model: old}\n"
    assert not (tmp_path / ".env").exists()


def test_a_config_that_cannot_be_written_leaves_the_secrets_as_they_were(tmp_path):
    (tmp_path / ".env").write_text("A_TOKEN=before\n")
    (tmp_path / ".env").chmod(0o600)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "config.yaml").symlink_to(tmp_path / "elsewhere" / "gone" / "config.yaml")
    with pytest.raises(Misconfigured, match="cannot be written"):
        set_up(tmp_path, {"model.model": "new"}, {"A_TOKEN": "after"})
    assert (tmp_path / ".env").read_text() == "A_TOKEN=before\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "A_KEY=new\n"),
        ("# mine\nOTHER=1", "# mine\nOTHER=1\nA_KEY=new\n"),
        ("A_KEY=old\nOTHER=1\n", "A_KEY=new\nOTHER=1\n"),
        ("X=1\n\n# about it\nA_KEY='old one' # why\nOTHER=1\n", "X=1\n\n# about it\nA_KEY=new\nOTHER=1\n"),
        ("A_KEY=1\nexport A_KEY=2\n", "A_KEY=new\n"),
    ],
)
def test_a_variable_is_set_in_its_place_and_everything_else_stays(before, after):
    assert with_variable(before, "A_KEY", "new") == after


@given(value=KEYS)
def test_any_key_is_read_back_as_it_was_written(tmp_path_factory, value):
    file = tmp_path_factory.mktemp("env") / ".env"
    file.write_text(with_variable("B=1\n", "A_KEY", value))
    file.chmod(0o600)
    assert read_env_file(file) == {"B": "1", "A_KEY": value}
