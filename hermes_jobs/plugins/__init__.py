"""Parts that others write: how they are found by name, and how they are called without trusting them."""
