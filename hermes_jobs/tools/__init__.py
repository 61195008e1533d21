"""Tools, their guards, and the toolbox that runs them."""
