"""The pure core: events, folds and decisions. No clock, no random, no I/O."""
