"""The aggregate "memory": its entries, who wrote them, and hand edits."""
