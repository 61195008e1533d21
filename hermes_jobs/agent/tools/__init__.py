"""What the agent can do to the world: the tools, their guards, and the box that runs them."""
