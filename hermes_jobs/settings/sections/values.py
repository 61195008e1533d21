"""The types of values, and the documentation of keys."""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from hermes_jobs.settings.durations import DURATION

Count: TypeAlias = Annotated[int, Meta(ge=1)]
CountFromZero: TypeAlias = Annotated[int, Meta(ge=0)]

Money: TypeAlias = Annotated[float, Meta(ge=0)]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65_535)]

Seconds: TypeAlias = Annotated[float, Meta(gt=0)]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]

_WEB = r"^https?://([^\s/?#]*@)?(\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]]+)(:[0-9]{0,5})?([/?#]\S*)?$"
WebUrl: TypeAlias = Annotated[str, Meta(title="a URL", pattern=_WEB, examples=["https://api.openai.com/v1"])]

BrokerUrl: TypeAlias = Annotated[
    str, Meta(title="a URL", pattern=r"^[a-z][a-z0-9+.-]*://\S*$", examples=["redis://127.0.0.1:6379/0"])
]
LogUrl: TypeAlias = Annotated[
    str, Meta(title="a URL", pattern=r"^[a-z][a-z0-9+]*://\S*$", examples=["postgresql://127.0.0.1/hermes"])
]

Duration: TypeAlias = (
    CountFromZero | Annotated[str, Meta(title="a duration", pattern=DURATION, examples=["6h"])]
)


def about(description: str, extra: dict[str, Any] | None = None) -> Meta:
    """The documentation of a key; `extra` is for `settings.keys`."""
    return Meta(description=description, extra=extra)


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys of one section of `config.yaml`."""
