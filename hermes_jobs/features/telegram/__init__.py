"""Telegram: a bot that receives messages, delivers answers, and asks the people who may answer."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(
    __name__,
    gateway="api:has_telegram",
    channels={"telegram": "channel:telegram_channel"},
    secrets={"TELEGRAM_BOT_TOKEN": "token of the Telegram bot"},
)
