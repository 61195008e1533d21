"""The operating system: files, locks, CPUs, limits and processes. Independent of the project."""
