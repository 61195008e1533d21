"""Load, decide, claim, run, append: the one place that handles commands and runs steps. Knows its ports
only."""
