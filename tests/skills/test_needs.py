"""What a skill says that it needs, in the forms in which people write it."""

from __future__ import annotations

import pytest

from hermes_jobs.features.skills.front_matter import NO_NEEDS, Available, Needs, read

ALL = Needs(variables=("A_TOKEN", "B_KEY"), commands=("jq", "curl"), packages=("pypdf>=4",))


@pytest.mark.parametrize(
    ("front", "needs"),
    [
        (
            "prerequisites:\n  env_vars: [A_TOKEN, B_KEY]\n  commands: [jq, curl]\n  packages: ['pypdf>=4']",
            ALL,
        ),
        (
            "metadata:\n  prerequisites:\n    env_vars: A_TOKEN, B_KEY\n    commands: jq, curl\n"
            "    packages: pypdf>=4",
            ALL,
        ),
        ("metadata:\n  hermes:\n    prerequisites:\n      commands:\n        - jq", Needs(commands=("jq",))),
        (
            "required_environment_variables:\n  - name: A_TOKEN\n    prompt: The token\n  - B_KEY",
            Needs(variables=("A_TOKEN", "B_KEY")),
        ),
        (
            "metadata:\n  openclaw:\n    requires:\n      env: [A_TOKEN]\n      bins: [jq]",
            Needs(variables=("A_TOKEN",), commands=("jq",)),
        ),
        ("prerequisites:\n  env_vars: ['A TOKEN', '$(x)', '']\n  commands: ['../x', 'a b']", NO_NEEDS),
        ("prerequisites: [jq]\nmetadata: x", NO_NEEDS),
        ("license: MIT", NO_NEEDS),
    ],
)
def test_it_is_read_in_all_its_forms(front: str, needs: Needs) -> None:
    assert read(f"---\nname: x\ndescription: y\n{front}\n---\nz\n").needs == needs


def test_missing_requirements_are_described() -> None:
    machine = Available(has_variable=lambda name: name == "A_TOKEN", has_command=lambda name: name == "jq")
    lacking = machine.lacks(ALL)
    assert lacking == Needs(variables=("B_KEY",), commands=("curl",))
    assert str(lacking) == "variable B_KEY; command curl"
    assert str(ALL) == "variables A_TOKEN, B_KEY; commands jq, curl; package pypdf>=4"
    assert not NO_NEEDS
