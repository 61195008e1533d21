"""Skills: procedures that the agent reads and writes down, in the form of https://agentskills.io."""
