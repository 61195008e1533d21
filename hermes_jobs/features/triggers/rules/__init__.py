"""The aggregate "trigger": its plan, the firings that wait, and the turns that they start."""
