"""What code on the command line does, judged by its words: the names in it, and the texts in its quotes.

Code of any language is judged by the same tables (`data/code.toml`); what only some of them call so is in
tables by language. Code may read, compute, print, write files of the folder and look at what others publish.
What deletes, sends, runs other programs, reads keys or writes elsewhere is asked about, and so is code that
hides its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_jobs.tools.command_rules.code_text import ADDRESS, LOOPBACK, PART, TEXT, CodeWords, of_language
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.sensitive_paths import is_project_secret, paths_in
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import pattern, words

_MAX_CHARACTERS = 20_000
"""Code that is longer is not judged: nobody writes it on a command line."""


def does_more(language: str, code: str, folder: str, context: CommandContext) -> bool:
    """Whether code does more than compute, print, read, and write files of the folder.

    Raises `Unparsable` if it is too much, or names too many files."""
    if UNKNOWN in code and not code.replace(UNKNOWN, "").strip():
        return True  # nothing of it can be read
    if len(code) > _MAX_CHARACTERS:
        return True
    context.budget.characters(2 * len(code))
    words_of_it = CodeWords(language, code, folder, context)
    return any(judge(words_of_it) for judge in _JUDGES)


# --- deeds ------------------------------------------------------------------------------------------


def _acts(code: CodeWords) -> bool:
    """Whether a word deletes, runs, sends, evaluates or installs."""
    if code.language in words("code", "backticks") and "`" in TEXT.sub(" ", code.stripped).replace("```", ""):
        return True
    text = code.stripped
    return any(pattern("code", name).search(text) for name in _ACTING) or any(
        act.search(text) for act in of_language("acts_of", code.language)
    )


_ACTING = ("acts", "passed", "installs", "reveals", "loads_outside")


def _does_deed(code: CodeWords) -> bool:
    """Whether a name says by its parts that it deletes, sends or reveals: `rmtree`, `drop_database`."""
    return any(_is_deed(frozenset(segment)) for segment, _ in code.segments)


def _is_deed(said: frozenset[str]) -> bool:
    """Whether parts of a name tell of a deed, or join a verb with what it is done to."""
    if said & words("code", "deeds") or ("all" in said and said & words("code", "deletes_all")):
        return True
    if len(said) < 2:
        return False
    things = said | {part.removesuffix("s") for part in said}
    return any(said & words("code", verbs) and things & words("code", done_to) for verbs, done_to in _DONE_TO)


_DONE_TO = (("deletes", "things"), ("sends", "sent"), ("revealing", "revealed"))


def _changes_service(code: CodeWords) -> bool:
    """Whether it does more than look at a service of which it uses a client."""
    modules = words("code", "service_modules")
    mentioned = code.parts | {
        part.lower() for text in code.texts for part in PART.findall(text) if len(text) < 60
    }
    if mentioned.isdisjoint(modules):
        return False
    deeds = words("code", "service_deeds")
    return any(is_last and segment[:1] and segment[0] in deeds for segment, is_last in code.segments)


def _changes_database(code: CodeWords) -> bool:
    """Whether it works on a database of another machine, or changes one that it names by an address."""
    hosts = [match["host"] for match in pattern("code", "database").finditer(code.code)]
    if not hosts:
        return False
    near = pattern("network", "services_beside")
    if not all(LOOPBACK.fullmatch(host) or near.fullmatch(host) for host in hosts):
        return True
    return pattern("code", "database_writes").search(code.code) is not None


# --- files and addresses ------------------------------------------------------------------------------


def _names_secret(code: CodeWords) -> bool:
    """Whether it names a file with keys, passwords or history."""
    if any(f"{before}{secret}" in code.code for secret in paths_in("secrets") for before in "/\"'"):
        return True
    if any(map(is_project_secret, code.paths)):
        return True
    if any(code.kind(path) == "secret" for path in code.paths if not path.isalnum()):
        return True
    hidden = [path for path in code.paths if pattern("code", "hidden").fullmatch(path)]
    from_home = pattern("code", "home").search(code.code) is not None
    return any(from_home or not path.startswith("/.") for path in hidden)


def _writes_elsewhere(code: CodeWords) -> bool:
    """Whether it writes outside the folder, or a file there that runs by itself."""
    if any(_writes(code, match) for match in _OPENS.finditer(code.code)):
        return True
    calls = pattern("code", "writing_calls").search(code.code) is not None
    if not calls and code.parts.isdisjoint(words("code", "writing")):
        return False
    return code.outside or any(
        code.kind(path) == "startup" for path in code.paths if "/" in path or "." in path
    )


_OPENS = re.compile(
    r"\bopen\s*+\(\s*+(?P<path>(?:[^,()\n]|\([^()\n]{0,100}\)){0,200}?)\s{0,20},\s*+(?:mode\s*+=\s*+)?(?P<mode>['\"][\w+]{1,4}['\"]|\w+\s*\))"
)
_OWN_FILE = re.compile(r"['\"](?![/~\\])(?!.*\.\.)[\w./ -]+['\"]")


def _writes(code: CodeWords, opened: re.Match[str]) -> bool:
    """Whether an `open` is for writing, elsewhere than to a plain file of the folder."""
    mode = opened["mode"].strip("'\"")
    if opened["mode"][0] in "'\"" and not set("wax+") & set(mode):
        return False
    path = opened["path"].strip()
    return _OWN_FILE.fullmatch(path) is None or code.kind(path.strip("'\"")) == "startup"


def _sends(code: CodeWords) -> bool:
    """Whether it may send what it reads, or run what it is given."""
    if not code.asks_elsewhere:
        return False
    joined = pattern("code", "joined_address").search(code.code) is not None
    if joined and not code.parts.isdisjoint(words("code", "sendable")):
        return True
    text = ADDRESS.sub(" ", code.code)
    return any(pattern("code", name).search(text) for name in ("reads", "sends")) or (
        pattern("code", "runs_fetched").search(code.code) is not None and not _is_import(code)
    )


def _is_import(code: CodeWords) -> bool:
    """Whether the language loads modules by words such as `load`, so that these tell nothing."""
    return code.language in ("python", "ipython", "pypy", "ruby")


# --- languages of commands ----------------------------------------------------------------------------

_CMDLET = re.compile(r"(?<![\w$.:\\/-])(?:(?<=[;|{(&\n])|^)\s*(?P<word>[A-Za-z][\w.-]*)", re.MULTILINE)
_CMDLETS = re.compile(r"(?<![\w$.:\\/-])[A-Z][a-z]+-[A-Z]\w+")
_CLOSURE = re.compile(r"\{\s*\|[\w\s,:]{0,100}\|")


def _is_command(code: CodeWords) -> bool:
    """Whether PowerShell or nu runs a command that is not known to look or compute."""
    if code.language in ("pwsh", "powershell"):
        return _powershell_acts(code)
    if code.language != "nu":
        return False
    bare = _CLOSURE.sub("{", TEXT.sub(" ", code.code))
    return "^" in bare or any(word not in words("code", "nu_words") for word in _nu_commands(bare))


def _nu_commands(bare: str) -> Iterator[str]:
    """The first words of the commands of a pipeline."""
    yield from (match["word"] for match in _CMDLET.finditer(bare))


def _powershell_acts(code: CodeWords) -> bool:
    bare = TEXT.sub('""', code.code)
    if re.search(
        r"(?:^|[;|{(=\n])\s*&|\biex\b|::(?:Delete|Start|Write\w*|Move|Create\w*|Set\w*|Load\w*)\b", bare
    ):
        return True
    firsts = [match["word"] for match in _CMDLET.finditer(bare)]
    for command in dict.fromkeys((*firsts, *_CMDLETS.findall(bare))):
        verb, _, noun = command.lower().partition("-")
        if command.lower() in words("code", "powershell_words"):
            continue
        if (
            not noun
            or verb not in words("code", "powershell_verbs")
            or noun in words("code", "powershell_reveals")
        ):
            return True
    return False


_JUDGES = (
    _names_secret,
    _acts,
    _does_deed,
    _changes_service,
    _changes_database,
    _writes_elsewhere,
    _sends,
    _is_command,
)
