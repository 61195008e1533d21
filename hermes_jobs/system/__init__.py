"""The operating system: files, locks, CPUs, limits and processes. Nothing here knows the project."""
