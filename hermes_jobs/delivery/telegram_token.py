"""The variable of the Telegram bot's token, without an import of the bot's client."""

TOKEN = "TELEGRAM_BOT_TOKEN"
"""The variable, of the environment or `.env`, that holds the token."""
