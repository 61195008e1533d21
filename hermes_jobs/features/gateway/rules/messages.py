"""A message of a chat: who wrote what where, and what it is recorded under."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.streams.decision import UniqueKey
from hermes_jobs.kernel.turns.attachments import Attachment

SCOPE = "gateway"
NOT_READ = "I cannot read this kind of message. Please write what it is about."


class IncomingFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a message: the key of the message that it came with, with its caption; the platform's `id` of
    it; its size in bytes, 0 if that is unknown."""

    key: str
    id: str
    name: str
    size: int
    caption: str = ""


class IncomingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message. `key` is unique among all messages of all platforms, `user` is its sender (`telegram:12`),
    `target` the target of answers. `text` is None for what cannot be read; `note` tells the sender why.
    `reply_to`: the platform's number of the message that it replies to; 0 for none. `conversation`: the
    group, or the topic of one, that has a session of its own; empty where the sender's own is meant. `name`:
    what the sender is called there. `files`: an album's files are those of one message; once they are taken
    in, they are its `attachments`. `outside`: the origin of a message that its sender did not write.
    """

    key: str
    user: str
    target: str
    text: str | None
    reply_to: int = 0
    conversation: str = ""
    name: str = ""
    note: str = NOT_READ
    files: tuple[IncomingFile, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    outside: str = ""

    @property
    def platform(self) -> str:
        """The platform's name."""
        return self.user.partition(":")[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all messages that make it up: of an album, one for each file."""
        return tuple(dict.fromkeys([file.key for file in self.files] or [self.key]))

    def without(self, handled: Collection[str]) -> IncomingMessage | None:
        """What remains without the messages of these keys; None for nothing."""
        files = tuple(file for file in self.files if file.key not in handled)
        if not files:
            return None if self.files or self.key in handled else self
        if len(files) == len(self.files):
            return self
        return replace(self, key=files[0].key, text=captions(files), files=files)


def captions(files: Iterable[IncomingFile]) -> str:
    """The text of a message with these files."""
    return "\n".join(file.caption for file in files if file.caption)


def message_keys(message: IncomingMessage) -> tuple[UniqueKey, ...]:
    """The keys under which the message is handled once."""
    digest = sha256((message.text or "").encode("utf-8", "replace")).hexdigest()
    return tuple(UniqueKey(scope=SCOPE, key=key, digest=digest) for key in message.keys)
