"""The aggregate "schedule": its plan, its due times, and the runs that follow from them."""
