"""Rules for commands: data files with dangerous commands, and the checks that need code."""
