"""Read models: the log as rows for queries. Decisions never use them."""
