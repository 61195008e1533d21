"""What the strings of a stored field are, declared where its name does not say it: `Annotated[str, NAME]`."""

from __future__ import annotations

from msgspec import Meta

NAME = Meta(extra={"holds": "name"})
"""Words by which events refer to each other or are folded: an id, a kind, a digest."""
TEXT = Meta(extra={"holds": "text"})
"""What people or models say, although the field is called like a name of `texts.NAMES`."""
JSON = Meta(extra={"holds": "json"})
"""The same as JSON, which has to stay JSON without its texts."""
ADDRESS = Meta(extra={"holds": "address"})
"""A word by which events are folded, such as `cli`, or a text: what has a colon, such as `webhook:URL`."""
