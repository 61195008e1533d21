"""Its rows and the queries on them."""
