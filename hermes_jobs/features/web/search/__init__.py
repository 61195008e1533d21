"""Web search: the known providers, their requests, and the tool `web_search`."""
