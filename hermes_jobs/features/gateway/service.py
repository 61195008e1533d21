"""The gateway's loop: leader or standby; polls for messages, accepts them in order, shows typing.

Received messages are confirmed to the platform by the next poll, after they are in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from hermes_jobs.errors import LogUnavailable, Rejected
from hermes_jobs.features.gateway.files import refused
from hermes_jobs.features.gateway.leader import GatewayLeader
from hermes_jobs.features.gateway.platform import Platform, PlatformUnavailable, Update
from hermes_jobs.features.gateway.receiver import MessageReceiver
from hermes_jobs.features.gateway.rules.messages import IncomingMessage
from hermes_jobs.kernel.log.outage import LogOutage

logger = logging.getLogger(__name__)

STANDBY_SECONDS = 1.0  # seconds between checks whether the leader is alive
LOG_RETRY_SECONDS = 1.0  # seconds before the retry of an unreachable log
FIRST_WAIT = 1.0  # seconds before the next poll of the platform, doubled with every failure
MAX_WAIT = 30.0
TYPING_EVERY = 4.0  # seconds; platforms show it for about five
DRAFT_EVERY = 1.0  # seconds between drafts of an answer
LOOK_EVERY = 1.0  # seconds between looks at the questions of turns
TRIES = 3  # attempts at a message that causes unexpected errors


class PlatformReach:
    """Whether the platform is reachable, for other threads: `problem` is the reason; empty if it is."""

    problem: str = ""


class GatewayService:
    """One account's gateway in one process. `notify` is called with status texts for the user."""

    def __init__(
        self,
        platform: Platform,
        reception: MessageReceiver,
        post: GatewayLeader,
        notify: Callable[[str], None],
        reach: PlatformReach,
        look: Callable[[], None] = lambda: None,
        busy: Callable[[], Sequence[str]] = lambda: (),
    ) -> None:
        """`look` is called again and again while this process is the leader: it asks what turns ask. `busy`
        gives the targets where an answer is in progress."""
        self._platform = platform
        self._receiver = reception
        self._leader = post
        self._notify = notify
        self._reach = reach
        self._look = look
        self._busy = busy
        self._last_report = ""
        self._is_leader = False
        self._last = 0
        self._failures = 0
        self._problems: set[str] = set()  # those logged since the platform was last reached
        self._outage = LogOutage(logger)
        self._undownloaded: Counter[str] = Counter()  # failures, by the message's key

    async def run(self) -> None:
        """Serve until cancelled. Raises `Rejected` if the platform refuses the credentials at the start."""
        await self._platform.open()
        lasting = (self._show_typing, self._show_drafts, self._keep_looking)
        tasks = [asyncio.create_task(each()) for each in lasting]
        try:
            while True:
                await self._round()
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await self._platform.close()

    async def _round(self) -> None:
        """Poll once and accept the messages, or wait."""
        try:
            if not await self._check_leadership():
                self._outage.ends()
                await asyncio.sleep(STANDBY_SECONDS)
                return
            updates = await self._platform.receive(self._last)
            self._was_reached()
            if not updates:
                # All are confirmed now, and after a quiet week Telegram continues with any number.
                self._last = 0
            for update in updates:
                if not await self._check_leadership():
                    return
                await self._accept(update)
                self._last = update.number
            self._outage.ends()
        except LogUnavailable as error:
            self._outage.begins(error)
            await asyncio.sleep(LOG_RETRY_SECONDS)
        except PlatformUnavailable as error:
            await asyncio.sleep(self._wait_after(error))
        except Rejected as rejection:
            if not self._is_leader:
                raise
            await asyncio.sleep(self._wait_after(PlatformUnavailable(rejection.message)))

    async def _check_leadership(self) -> bool:
        is_leader = await asyncio.to_thread(self._leader.is_leader)
        if is_leader and not self._is_leader:
            name = await self._platform.whoami()
            self._report(f"Listening as {name}.")
        elif not is_leader:
            self._last = 0  # the new leader confirms updates meanwhile, and numbers may begin again
            self._report("Another process listens for this account: standing by.")
        self._is_leader = is_leader
        return is_leader

    async def _accept(self, update: Update) -> None:
        """Retry until the message or press is in the log; skip it after `TRIES` unexpected errors."""
        for _ in range(TRIES):
            try:
                await self._import_update(update)
            except (LogUnavailable, PlatformUnavailable, Rejected):
                raise
            except Exception:
                logger.exception("update %s could not be accepted", update.number)
                await asyncio.sleep(LOG_RETRY_SECONDS)
            else:
                return
        logger.error("update %s is passed over", update.number)

    async def _import_update(self, update: Update) -> None:
        if update.message is not None and update.message.files:
            await self._import_files(update.message)
        elif update.message is not None:
            await asyncio.to_thread(self._receiver.accept, update.message)
        if update.press is not None:
            answer = await asyncio.to_thread(self._receiver.accept_press, update.press)
            if answer is not None:
                await self._platform.answer_press(update.press, answer)

    async def _import_files(self, message: IncomingMessage) -> None:
        """Download the files, then accept the message, or tell its sender why not.

        Raises `PlatformUnavailable`, at most `TRIES` times for a message.
        """
        contents: dict[str, bytes] = {}
        try:
            for file in await asyncio.to_thread(self._receiver.to_download, message):
                contents[file.id] = await self._platform.download(file)
        except Rejected as refusal:
            message = refused(message, refusal)
        except PlatformUnavailable as error:
            self._undownloaded[message.key] += 1
            if self._undownloaded[message.key] < TRIES:
                raise
            names = ", ".join(file.name for file in message.files)
            failed = Rejected(f"{names} could not be downloaded: {error}.", hint="Please send it again.")
            message = refused(message, failed)
        self._undownloaded.pop(message.key, None)
        await asyncio.to_thread(self._receiver.accept, message, contents)

    async def _show_typing(self) -> None:
        while True:
            try:
                for target in self._busy() if self._is_leader else ():
                    await self._platform.show_typing(target)
            except PlatformUnavailable as error:
                logger.debug("no typing is shown: %s", error)
            except Exception:
                logger.exception("no typing is shown")
            await asyncio.sleep(TYPING_EVERY)

    async def _show_drafts(self) -> None:
        while True:
            wait = DRAFT_EVERY
            try:
                if self._is_leader:
                    await self._platform.show_drafts()
            except PlatformUnavailable as error:
                wait = max(error.retry_after or 0.0, DRAFT_EVERY)
                logger.debug("no draft is shown: %s", error)
            except Rejected:
                logger.info("answers are shown when they are complete: this server knows no drafts")
                return
            except Exception:
                logger.exception("no draft is shown")
            await asyncio.sleep(wait)

    async def _keep_looking(self) -> None:
        while True:
            try:
                if self._is_leader:
                    await asyncio.to_thread(self._look)
            except LogUnavailable as error:
                logger.debug("questions are looked for later: %s", error)
            except Exception:
                logger.exception("the questions of turns could not be looked for")
            await asyncio.sleep(LOOK_EVERY)

    def _wait_after(self, error: PlatformUnavailable) -> float:
        wait = max(min(FIRST_WAIT * 2.0**self._failures, MAX_WAIT), error.retry_after or 0.0)
        self._failures += 1
        self._reach.problem = str(error)
        if str(error) not in self._problems:
            self._problems.add(str(error))
            logger.warning("%s; it is tried again, at least every %g s", error, max(wait, MAX_WAIT))
        return wait

    def _was_reached(self) -> None:
        self._failures = 0
        self._reach.problem = ""
        if self._problems:
            self._problems.clear()
            logger.warning("%s is reachable again", self._platform.name)

    def _report(self, text: str) -> None:
        if text != self._last_report:
            self._last_report = text
            self._notify(text)
