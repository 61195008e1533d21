"""Processes: workers, schedules, gateways, web pages, metrics."""

from typing import Annotated, Literal

from msgspec import Meta

from hermes_jobs.settings.sections.values import Count, Port, Seconds, Section, Text, WebUrl, about


class SchedulesSettings(Section, frozen=True, kw_only=True):
    """Defaults of a schedule."""

    timezone: Annotated[Text | None, about("Time zone of schedules and days; null: this machine's.")] = None
    missed: Annotated[
        Literal["run_once", "skip", "all"], about("What to do with runs missed while nothing was running.")
    ] = "run_once"
    overlap: Annotated[
        Literal["skip", "queue", "parallel"], about("What to do if the last run is still running.")
    ] = "skip"


class Telegram(Section, frozen=True, kw_only=True):
    """The Telegram gateway; its token is the secret TELEGRAM_BOT_TOKEN."""

    allowed_users: Annotated[tuple[int, ...], about("Telegram user ids that may write.")] = ()
    approvers: Annotated[
        tuple[int, ...],
        about(
            "Telegram user ids that may answer for all turns: in groups, and what turns from elsewhere ask."
        ),
    ] = ()
    push_questions: Annotated[
        bool, about("Send approvers what turns from elsewhere ask; false: only /inbox shows it.")
    ] = True
    base_url: Annotated[WebUrl | None, about("Bot API server; null: Telegram's own.")] = None


class GatewaySettings(Section, frozen=True, kw_only=True):
    """Chat gateways."""

    users: Annotated[
        dict[str, tuple[Text, ...]],
        about("A person's ids on several platforms, such as {anna: ['telegram:123']}."),
    ] = {}
    telegram: Telegram = Telegram()


class Workers(Section, frozen=True, kw_only=True):
    """The processes that work."""

    concurrency: Annotated[
        Count, about("Most steps that a worker runs at once; threads start as needed.")
    ] = 256
    lease_seconds: Annotated[
        Seconds, about("Seconds without a heartbeat after which a worker counts as dead.")
    ] = 8
    stop_seconds: Annotated[
        float, Meta(ge=0, description="Seconds that running writes may take when a worker stops.")
    ] = 20
    one_cpu: Annotated[
        bool, about("Keep a busy worker's threads on one CPU (Linux); commands run anywhere.")
    ] = True


class Metrics(Section, frozen=True, kw_only=True):
    """What Prometheus may collect."""

    port: Annotated[Port | None, about("Port on which `up` serves metrics; null: none.")] = None
    address: Annotated[Text, about("Address on which metrics are served.")] = "127.0.0.1"


class ServeSettings(Section, frozen=True, kw_only=True):
    """The web pages of `serve`; the hash of their password is the secret SERVE_HASHED_PASSWORD."""

    enabled: Annotated[bool, about("Whether `up` serves the web pages.")] = False
    host: Annotated[Text, about("Address on which they are served.")] = "127.0.0.1"
    port: Annotated[Port, about("Port on which they are served.")] = 5580
    trusted_proxy_header: Annotated[
        Text | None,
        about("Header in which a proxy names who is signed in; X-Proxy-Secret has to be SERVE_PROXY_SECRET."),
    ] = None
    allowed_hosts: Annotated[
        tuple[Text, ...], about("Further hosts by which browsers reach it, such as jobs.example.com.")
    ] = ()
    public_url: Annotated[
        Text | None, about("Its address for other devices, such as https://jobs.example.com: for links.")
    ] = None
    deliver: Annotated[
        tuple[Text, ...],
        about("Targets of the answers to what is written there, such as ntfy:TOPIC or push."),
    ] = ()
    ntfy_server: Annotated[Text, about("Server of the targets ntfy:TOPIC.")] = "https://ntfy.sh"
