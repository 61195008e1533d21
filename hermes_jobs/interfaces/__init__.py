"""How users and programs reach an installation: command line, chat, chat gateways, HTML pages."""
