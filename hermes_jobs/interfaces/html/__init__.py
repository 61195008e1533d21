"""Pages for users: one HTML file each, with everything in it; nothing is fetched, nothing runs."""
