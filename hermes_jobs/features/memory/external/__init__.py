"""Memory providers that are shipped, each an extra of the package."""
