"""Web search: the providers that are known by name, what is asked of each, and the tool `web_search`."""
