"""How people and programs reach an installation: command line, chat, chat gateways, HTML pages."""
