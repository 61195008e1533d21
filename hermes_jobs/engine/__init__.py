"""Load, decide, claim, perform, append: the one place where steps are acted on. Knows its ports only."""
