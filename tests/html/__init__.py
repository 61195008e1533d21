"""Pages: what stands in them, and what a browser makes of them."""
