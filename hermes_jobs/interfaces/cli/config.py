"""`hermes-jobs config`: the settings, their origin, and changes of `config.yaml`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_key, complete_setting, complete_value
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import TextParam
from hermes_jobs.interfaces.cli.questions.confirmation import ask_secret
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.table import print_table

if TYPE_CHECKING:
    from hermes_jobs.settings import Draft, Settings, Shown


@group(epilog=example("hermes-jobs config show --origin", "hermes-jobs config set model gpt-6.1-terra"))
def config() -> None:
    """Show and change the configuration.

    Running processes reread `config.yaml` and `.env` when they change.
    """


@config.command(
    "show", epilog=example("hermes-jobs config show terminal", "hermes-jobs config show --origin --json")
)
@click.argument("filter_", metavar="[FILTER]", type=TextParam(), required=False, shell_complete=complete_key)
@click.option("--origin", is_flag=True, help="Show where each value comes from.")
@limit_option("keys", default=None)
def show(context: CliContext, filter_: str | None, origin: bool, limit: int | None, as_json: Json) -> None:
    """Show every key with its value, without secrets.

    With FILTER, only keys whose names contain it. Values set by the environment apply to commands of this
    shell and to the turns that they send.
    """
    settings = _filtered(context.settings, filter_)[:limit]
    if origin:
        headers: tuple[str, ...] = ("KEY", "ORIGIN", "VALUE")
        rows: list[tuple[str, ...]] = [
            (setting.key, setting.origin, _text(setting.value)) for setting in settings
        ]
        values: dict[str, object] = {
            setting.key: {"value": setting.value, "origin": setting.origin} for setting in settings
        }
    else:
        headers = ("KEY", "VALUE")
        rows = [(setting.key, _text(setting.value)) for setting in settings]
        values = {setting.key: setting.value for setting in settings}
    print_result(lambda: values, lambda: print_table(headers, rows, ranks=("ORIGIN",)), as_json=as_json)


@config.command(
    "get", epilog=example("hermes-jobs config get model", "hermes-jobs config get budgets.day_usd")
)
@click.argument("key", shell_complete=complete_key)
def get(context: CliContext, key: str, as_json: Json) -> None:
    """Print the effective value of one key."""
    from hermes_jobs.settings import is_secret_variable, value_of

    _require_known_variable(key)
    if is_secret_variable(key):
        raise Rejected(
            f"{key} is a secret, which is never shown. {_location(context, key)}",
            kind="usage",
            hint=f"`hermes-jobs config set {key}` asks for it and writes it into .env.",
        )
    value = value_of(context.settings, key).value
    print_result(lambda: value, lambda: click.echo(_text(value)), as_json=as_json)


@config.command("path", epilog=example('cat "$(hermes-jobs config path)"'))
def path(context: CliContext, as_json: Json) -> None:
    """Print the path of `config.yaml`."""
    from hermes_jobs.settings import Paths, find_home

    file = str(Paths(find_home(context.environ)).config)
    print_result(lambda: file, lambda: click.echo(file), as_json=as_json)


@config.command(
    "set",
    epilog=example(
        "hermes-jobs config set model gpt-6.1-terra",
        "hermes-jobs config set budgets.day_usd 5",
        "hermes-jobs config set OPENAI_API_KEY",
    ),
)
@click.argument("key", shell_complete=complete_setting)
@click.argument("value", type=TextParam(), required=False, shell_complete=complete_value)
def change(context: CliContext, key: str, value: str | None) -> None:
    """Set a configuration key, or a secret.

    Keys are saved in `config.yaml`, secrets such as OPENAI_API_KEY in `.env`.

    The rest of the file does not change. The name of a section means its main key: `model` is `model.model`.

    VALUE is YAML: `null`, `true`, numbers and lists work as written.

    Without VALUE, a secret is asked for without echo, or read from a pipe.
    """
    from hermes_jobs.settings import find_home, is_secret_variable, set_value

    _require_known_variable(key)
    if is_secret_variable(key):
        _write_secret(context, key, value)
        return
    if value is None:
        raise click.MissingParameter(param_hint="'VALUE'", param_type="argument")
    name = set_value(find_home(context.environ), key, value)
    _say_saved(context, name, f"{name} is set.")


@config.command("unset", epilog=example("hermes-jobs config unset budgets.day_usd"))
@click.argument("key", shell_complete=complete_setting)
def unset(context: CliContext, key: str) -> None:
    """Remove a key from `config.yaml`, so that its default applies.

    The rest of the file does not change. A secret such as OPENAI_API_KEY is removed from `.env`.
    """
    from hermes_jobs.settings import find_home, is_secret_variable, unset_secret, unset_value

    _require_known_variable(key)
    if is_secret_variable(key):
        text = "is out of" if unset_secret(find_home(context.environ), key) else "was not in"
        note(f"{key} {text} .env. {_location(context, key)}")
        return
    name, was_there = unset_value(find_home(context.environ), key)
    if was_there:
        _say_saved(context, name, f"{name} is unset.")
    else:
        note(f"{name} is not in config.yaml; nothing was changed.")


@config.command("edit", epilog=example("EDITOR=nano hermes-jobs config edit"))
def edit(context: CliContext) -> None:
    """Open `config.yaml` in your editor ($VISUAL, else $EDITOR).

    The file is replaced when your text is valid. An invalid text is kept for the next try.
    """
    from hermes_jobs.errors import Misconfigured
    from hermes_jobs.settings import Draft, find_home

    draft = Draft(find_home(context.environ))
    if draft.is_refused:
        note("Continuing with the text that was refused last time.")
        if draft.is_outdated:
            note("config.yaml has changed since then; saving this text replaces it.")
    while True:
        _open_editor(draft, context)
        try:
            changed = draft.accept()
        except Misconfigured as error:
            if not _edit_again(error.message, error.hint):
                text = f"Your text is in {draft.path}; `hermes-jobs config edit` continues with it."
                hint = error.hint if str(draft.path) in error.hint else f"{error.hint} {text}".strip()
                raise Misconfigured(error.message, hint=hint) from error
            continue
        note("config.yaml is saved. Running processes reread it." if changed else "Nothing was changed.")
        return


def _require_known_variable(name: str) -> None:
    """Raise `Rejected` for a name that is not a known variable, but similar to one."""
    from hermes_jobs.settings import is_secret_variable, near_secrets

    if name.isupper() and not is_secret_variable(name) and (nearest := near_secrets(name)):
        raise Rejected(f"There is no variable {name}.", kind="usage", hint=f"Near it: {', '.join(nearest)}.")


def _write_secret(context: CliContext, name: str, value: str | None) -> None:
    """Write the secret into `.env`; without a value, prompt for it or read it from a pipe."""
    from hermes_jobs.settings import Paths, find_home, set_secret

    home = find_home(context.environ)
    typed = value
    if typed is None:
        typed = ask_secret(f"{name} (not shown)") if sys.stdin.isatty() else sys.stdin.read()
    set_secret(home, name, str(typed))
    note(f"{name} is in {Paths(home).env_file} (mode 600). Running processes reread it.")
    if value is not None:
        note("Your shell may keep that line in its history. Without VALUE, it is asked for and not echoed.")
    if context.environ.get(name):
        note(f"In this shell {name} is set, and overrides .env.")


def _location(context: CliContext, name: str) -> str:
    """The place of that secret, in a sentence."""
    from hermes_jobs.settings import Paths, find_home
    from hermes_jobs.settings.sources import read_env_file

    if context.environ.get(name):
        return "It is set in the environment."
    is_there = bool(read_env_file(Paths(find_home(context.environ)).env_file).get(name))
    return "It is set in .env." if is_there else "It is not set."


def _open_editor(draft: Draft, context: CliContext) -> None:
    """Let the user edit the draft. Raises `Misconfigured` where the editor cannot be started or fails."""
    from hermes_jobs.errors import Misconfigured

    editor = context.environ.get("VISUAL") or context.environ.get("EDITOR") or None
    try:
        click.edit(filename=os.fspath(draft.path), editor=editor)
    except click.ClickException as error:
        if not draft.is_refused:
            draft.discard()
        raise Misconfigured(
            f"The editor failed, and config.yaml is as it was. {error.message}",
            hint="Set EDITOR to one that works, such as EDITOR=nano.",
        ) from error


def _edit_again(message: str, hint: str) -> bool:
    """Whether the user edits the text again; false without a terminal."""
    if not sys.stdin.isatty():
        return False
    note(f"{message} {hint}".strip())
    return click.confirm("Edit again?", default=True, err=True)


def _filtered(settings: Settings, part: str | None) -> list[Shown]:
    """The keys whose names hold that text, in any case. Raises `Rejected` where there are none."""
    from hermes_jobs.settings import near_keys, render

    rendered = render(settings)
    if part is None:
        return rendered
    matching = [setting for setting in rendered if part.lower() in setting.key]
    if not matching:
        nearest = near_keys(part)
        hint = f"Near it: {', '.join(nearest)}." if nearest else "`hermes-jobs config show` lists every key."
        raise Rejected(f"No key's name contains {part!r}.", kind="usage", hint=hint)
    return matching


def _say_saved(context: CliContext, key: str, text: str) -> None:
    """Print the change, whether running processes use it, and what overrides it here."""
    from hermes_jobs.settings import needs_restart, variables_of

    if needs_restart(key):
        note(f"{text} Running processes keep the old value: `hermes-jobs down`, then `hermes-jobs up`.")
    else:
        note(f"{text} Running processes reread it.")
    above = [name for name in variables_of(key) if context.environ.get(name)]
    if above:
        note(f"In this shell {above[0]} is set, and overrides config.yaml.")
    if key.startswith("model."):
        _tell_missing_key(context)


def _tell_missing_key(context: CliContext) -> None:
    """Print a note if the model in use has no key here."""
    from hermes_jobs.settings import load, missing_key

    settings = load(context.environ)
    missing = missing_key(settings.main_model, settings.secrets)
    if missing is not None:
        note(f"{missing} `hermes-jobs setup` asks for it.")


def _text(value: object) -> str:
    import msgspec

    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
