"""The projects here are a user's: their tests run in an environment of their own."""

collect_ignore_glob = ["own_project/*"]
