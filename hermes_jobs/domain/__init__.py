"""The pure core: facts, folds and decisions. No clock, no random, no I/O."""
