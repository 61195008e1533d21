"""The features: one folder each, which declares itself. See `hermes_jobs.feature` and `hermes_jobs.app`."""
