"""The agent: models, prompt, tools, context, memory, skills, reviews. They meet in `engine.ports`."""
