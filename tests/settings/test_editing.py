"""`config set` changes one key and nothing else of the file."""

import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings import Draft, load, set_value, unset_value
from hermes_jobs.settings.yaml_text import CannotEdit, read, remove, replace

WRITTEN = """\
# My settings.
model:   # what answers
  model: "gpt-x"  # a good one
  api: chat

files:
  roots: # two places
  - /a
  - /b
  # end of files
compression: {threshold: 0.4}
memory:
# the end
"""


@pytest.fixture
def home(tmp_path):
    (tmp_path / "config.yaml").write_text(WRITTEN)
    return tmp_path


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the lines that went and those that came."""
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


@pytest.mark.parametrize(
    ("key", "text", "gone", "come"),
    [
        ("model.model", "on", ['  model: "gpt-x"  # a good one'], ["  model: on  # a good one"]),
        ("model.model", "null", ['  model: "gpt-x"  # a good one'], ["  model: null  # a good one"]),
        ("model.timeout", "5", [], ["  timeout: 5"]),
        (
            "files.roots",
            "['/c, d']",
            ["  roots: # two places", "  - /a", "  - /b"],
            ["  roots: ['/c, d'] # two places"],
        ),
        (
            "compression.threshold",
            "0.3",
            ["compression: {threshold: 0.4}"],
            ["compression: {threshold: 0.3}"],
        ),
        (
            "compression.enabled",
            "false",
            ["compression: {threshold: 0.4}"],
            ["compression: {enabled: false, threshold: 0.4}"],
        ),
        ("memory.recall", "true", ["memory:"], ["memory: {recall: true}"]),
        ("auxiliary.review.model", "small", [], ["auxiliary:", "  review:", "    model: small"]),
        ("broker_url", "redis://h:1/0", [], ["broker_url: 'redis://h:1/0'"]),
    ],
)
def test_one_key_changes_and_every_other_line_stays(home, key, text, gone, come):
    set_value(home, key, text)

    assert changed_lines(WRITTEN, (home / "config.yaml").read_text()) == (gone, come)
    assert load({}, home=home).origins[key] == "config.yaml"


def test_the_first_value_makes_home_and_file(tmp_path):
    set_value(tmp_path / "new", "workers.concurrency", "4")

    assert (tmp_path / "new" / "config.yaml").read_text() == "workers:\n  concurrency: 4\n"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "config.yaml").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("model.modell", "x", "nearest known one is 'model.model'"),
        ("agent", "x", "agent is a section, not a key"),
        ("agent.max_iterations", "none", "expected a whole number of at least 1, found 'none'"),
        ("model.model", "", "found ''"),
        ("openai_api_key", "sk-0123456789", "looks like a secret"),
        ("broker_url", "redis://:secret-word@h/0", "broker_url holds a password"),
        ("terminal.allow", "[", "not YAML"),
        ("schedules.timezone", "Europe/Berln", "'Europe/Berln' (config set). The nearest known one is"),
    ],
)
def test_a_wrong_key_or_value_is_refused_and_nothing_is_written(home, key, text, said):
    with pytest.raises(Misconfigured) as caught:
        set_value(home, key, text)
    assert said in caught.value.message
    assert "sk-0123456789" not in caught.value.message
    assert "secret-word" not in caught.value.message + caught.value.hint
    assert (home / "config.yaml").read_text() == WRITTEN


def test_a_broken_file_is_named_and_left_as_it_is(home):
    (home / "config.yaml").write_text("model: [\n")
    with pytest.raises(Misconfigured, match=r"config\.yaml, line 2, column 1"):
        set_value(home, "model.model", "x")
    assert (home / "config.yaml").read_text() == "model: [\n"


def test_a_wrong_value_in_the_file_can_be_mended_and_another_one_stops(home):
    (home / "config.yaml").write_text("terminal: {policy: maybe}\n")
    with pytest.raises(Misconfigured, match=r"terminal\.policy"):
        set_value(home, "model.model", "x")
    set_value(home, "terminal.policy", "deny")
    assert load({}, home=home).terminal.policy == "deny"


def test_a_link_stays_a_link_and_the_mode_stays(home):
    target = home / "dotfiles.yaml"
    (home / "config.yaml").rename(target)
    target.chmod(0o640)
    (home / "config.yaml").symlink_to(target)

    set_value(home, "model.api", "responses")

    assert (home / "config.yaml").is_symlink()
    assert "api: responses" in target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(file.name for file in home.glob("*.yaml*")) == ["config.yaml", "dotfiles.yaml"]


def test_line_ends_of_other_systems_are_kept(home):
    (home / "config.yaml").write_bytes(b"model:\r\n  api: chat # c\r\n")
    set_value(home, "model.api", "responses")
    assert (home / "config.yaml").read_bytes() == b"model:\r\n  api: responses # c\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  x\n  y\nb: 1\n",
        "a:\n  b: >\n    x\n\n# end\n",
        "---\na: 1",
        "b: 1\n...\n",
        "{}",
        "'a' : 1\n",
        "a: !!str 1\n",
        "? a\n: 1\n",
        "a: # c: d\n- 1\n- - 2\n  - 3 # e\nb: 1\n",
    ],
)
def test_rare_forms_are_edited_too(text):
    edited = replace(text, ("a",), "new")
    assert read(edited).value == {**read(text).value, "a": "new"}


def test_a_key_below_a_single_value_is_refused():
    with pytest.raises(CannotEdit):
        replace("a: 1\n", ("a", "b"), 2)


scalars = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text(max_size=12)
names = st.sampled_from(["alpha", "beta", "gamma"])
trees = st.dictionaries(
    names, scalars | st.lists(scalars, max_size=3) | st.dictionaries(names, scalars, max_size=3)
)


@given(
    tree=trees,
    path=st.tuples(names) | st.tuples(names, names),
    value=scalars | st.lists(scalars, max_size=3),
    flow=st.booleans(),
)
def test_an_edit_sets_its_key_and_no_other_or_refuses(tree, path, value, flow):
    import yaml

    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True)
    before = read(text).value
    try:
        after = read(replace(text, path, value)).value
    except CannotEdit:
        assert not isinstance(before.get(path[0]), dict | None), "only a path through a value is refused"
        return
    expected = dict(before)
    if len(path) == 1:
        expected[path[0]] = value
    else:
        expected[path[0]] = {**(before.get(path[0]) or {}), path[1]: value}
    assert after == expected


@pytest.mark.parametrize(
    ("key", "gone", "come"),
    [
        ("model.model", ['  model: "gpt-x"  # a good one'], []),
        ("model", ['  model: "gpt-x"  # a good one'], []),
        ("files.roots", ["files:", "  roots: # two places", "  - /a", "  - /b"], []),
        ("compression.threshold", ["compression: {threshold: 0.4}"], []),
        ("memory.recall", [], []),
    ],
)
def test_a_key_is_taken_out_and_every_other_line_stays(home, key, gone, come):
    name, was_there = unset_value(home, key)

    assert changed_lines(WRITTEN, (home / "config.yaml").read_text()) == (gone, come)
    assert was_there == bool(gone)
    assert load({}, home=home).origins[name] == "default"


@pytest.mark.parametrize(
    ("text", "path", "left"),
    [
        ("a: {b: 1, c: 2}\n", ("a", "b"), "a: {c: 2}\n"),
        ("a: {b: 1, c: 2}\n", ("a", "c"), "a: {b: 1}\n"),
        ("a:\n  b: 1\n", ("a", "b"), ""),
        ("a:\n  b: 1", ("a", "b"), ""),
        ("a:\n  # why\n  b: 1\n", ("a", "b"), "a:\n  # why\n"),
        ("a:\n  b: 1\nc: 2\n", ("c",), "a:\n  b: 1\n"),
        ("a:\n  b:\n    d: 1\nc: 2\n", ("a", "b", "d"), "c: 2\n"),
        ("a:\n  b: |\n    x\n    y\n  c: 2\n", ("a", "b"), "a:\n  c: 2\n"),
        ("a:\n  b:\n  c: 2\n", ("a", "b"), "a:\n  c: 2\n"),
        ("a: 1\n", ("b",), "a: 1\n"),
        ("", ("b",), ""),
    ],
)
def test_a_key_leaves_a_yaml_text(text, path, left):
    assert remove(text, path) == left


def test_a_draft_becomes_the_file_when_it_is_valid_and_is_kept_until_then(home):
    draft = Draft(home)
    assert (draft.path.read_text(), draft.is_refused) == (WRITTEN, False)
    draft.path.write_text("terminal: {policy: maybe}\n")
    with pytest.raises(Misconfigured, match=r"terminal\.policy"):
        draft.accept()
    assert (home / "config.yaml").read_text() == WRITTEN

    again = Draft(home)
    assert (again.path.read_text(), again.is_refused) == ("terminal: {policy: maybe}\n", True)
    again.path.write_text("terminal: {policy: deny}\n")
    assert again.accept()
    assert load({}, home=home).terminal.policy == "deny"
    assert not again.path.exists()
    assert not Draft(home).accept()


def test_a_draft_does_not_replace_concurrent_changes(home):
    draft = Draft(home)
    draft.path.write_text("terminal: {policy: deny}\n")
    set_value(home, "model.timeout", "5")
    with pytest.raises(Misconfigured, match="has changed meanwhile"):
        draft.accept()
    assert load({}, home=home).model.timeout == 5
    assert draft.path.exists()
