"""Where a Telegram bot's token is found; for those who must know it without the bot's client."""

TOKEN = "TELEGRAM_BOT_TOKEN"
"""The variable, of the environment or `.env`, that holds the token."""
