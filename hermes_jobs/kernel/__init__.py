"""What every agent needs and no feature: the log, streams and their events, turns, the engine, and views."""
