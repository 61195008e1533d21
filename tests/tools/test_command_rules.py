"""The rules for commands: how their fields match, and that the data files are whole."""

from __future__ import annotations

import msgspec
import pytest

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.rules import CHECKS, CommandRule, CommandRuleSet, rule_set
from hermes_jobs.tools.invocations import invocations
from hermes_jobs.tools.path_policy import PathPolicy

CONTEXT = CommandContext("/w", PathPolicy(home="/home/ann/.hermes-jobs", user_home="/home/ann"))


def meets(command: str, **fields: object) -> bool:
    """Whether the first program of the command meets a rule with these fields."""
    rules = CommandRuleSet([msgspec.convert({"name": "it", **fields}, CommandRule)])
    return any(rules.met(invocations(command, "/w", {})[-1], CONTEXT))


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("prog x", {"programs": "other prog"}),
        ("/usr/bin/prog3.11 x", {"programs": "prog"}),
        ("mkfs.ext4 x", {"programs": "mkfs.*"}),
        ("anything", {}),
        ("prog -vx", {"programs": "prog", "options": "-x --long"}),
        ("prog --long=1", {"programs": "prog", "options": "-x --long"}),
        ("prog -v sub", {"programs": "prog", "first": "su."}),
        ("prog a add", {"programs": "prog", "verbs": "add remove"}),
        ("prog a b c", {"programs": "prog", "pattern": "[cd]"}),
        ("prog a b", {"programs": "prog", "pattern": "b", "within": 2}),
        ("prog -9 -1", {"programs": "prog", "line": ".* -1"}),
        ("prog > /dev/tcp/x", {"redirects": "/dev/tcp/.*"}),
        ("tee x/../y", {"writes": "/w/y"}),
        ("cat y", {"paths": "/w/y"}),
        ("git -C x push", {"programs": "git-push"}),
        ("python3.12 -Im tool x", {"programs": "python-m-tool", "first": "x"}),
        ("python3 -mtool x", {"programs": "python-m-tool", "first": "x"}),
        ("prog x -f", {"programs": "prog", "first": "x", "also_options": "-f"}),
    ],
)
def test_a_rule_is_met(command, fields):
    assert meets(command, **fields)


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("programs x", {"programs": "prog"}),
        ("prog --vx", {"programs": "prog", "options": "-x --long"}),
        ("prog sub more", {"programs": "prog", "first": "su"}),
        ("prog a b add", {"programs": "prog", "verbs": "add remove"}),
        ("prog a b", {"programs": "prog", "pattern": "b", "within": 1}),
        ("prog -1", {"programs": "prog", "line": ".* -1"}),
        ("prog x", {"programs": "prog", "first": "x", "also_options": "-f"}),
        ("prog x --help", {"programs": "prog", "unless": "--help"}),
        ("prog x -nv", {"programs": "prog", "unless_options": "-n"}),
        ("prog x", {"programs": "prog", "unless_first": "x|y"}),
        ("prog a=1", {"programs": "prog", "unless_pattern": "a=.*"}),
        ("prog x", {"unless_programs": "other prog"}),
        ("git push", {"programs": "git-pull"}),
    ],
)
def test_a_rule_is_not_met(command, fields):
    assert not meets(command, **fields)


def test_rules_that_are_met_are_named_in_their_order():
    rules = CommandRuleSet(
        [CommandRule(name="a", programs="x"), CommandRule(name="b"), CommandRule(name="c", programs="prog")]
    )
    assert list(rules.met(invocations("prog", "/w", {})[0], CONTEXT)) == ["b", "c"]


def test_a_misspelt_field_is_an_error():
    with pytest.raises(msgspec.ValidationError, match="optoins"):
        msgspec.convert({"name": "it", "optoins": "-x"}, CommandRule)


def test_every_program_has_a_verdict_with_a_version_in_its_name():
    rules = [rule for decision in ("ask", "deny") for rule in rule_set(decision).rules]
    names = {rule.name for rule in rules}
    for program in {name.rstrip("*") for rule in rules for name in rule.programs.split()}:
        found = invocations(f"{program}2 -x a b", "/w", {})
        context = CommandContext("/w", CONTEXT.paths)
        assert {name for each in found for name in rule_set("ask").met(each, context)} <= names


def test_the_rules_call_every_check_and_no_other():
    rules = [rule for decision in ("ask", "deny") for rule in rule_set(decision).rules]
    assert {each for rule in rules for each in (rule.check, rule.unless_check) if each} == set(CHECKS)
