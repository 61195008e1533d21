"""The features: one folder each, which declares itself; see `hermes_jobs.kernel.feature`."""
