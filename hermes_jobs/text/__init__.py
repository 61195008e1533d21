"""Pure algorithms on text. Nothing here does I/O or knows the domain."""
