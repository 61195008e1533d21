"""Interfaces for users: command line, chat, HTML pages."""
