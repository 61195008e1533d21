"""Rules of approvals on the command line, as scripts add and remove them."""

from __future__ import annotations

from tests.written_home import WrittenHome


def test_adding_and_removing_a_rule_print_it_for_scripts(home: WrittenHome) -> None:
    added = home.run("approvals", "add", "allow", "npm test *", "--anywhere", "--json").json
    assert (added["number"], added["ruling"], added["pattern"]) == (1, "allow", "npm test *")
    assert home.run("approvals", "remove", "1", "--json").json == added
    assert home.run("approvals", "list", "--json").json == []
