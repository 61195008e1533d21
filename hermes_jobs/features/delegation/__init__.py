"""Sub-agents: their kinds, and the tool that starts them."""
