"""Pages for users: self-contained HTML files without scripts and external resources."""
