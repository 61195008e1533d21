"""Rules for commands: data files that say what is dangerous, and the checks that need code."""
