"""Which adapter stands behind which port: settings in, a working installation out.

The only place that names adapters. `installation` holds what there is one of; each of the other modules makes
one part of it.
"""

from hermes_jobs.bootstrap.application import Application, NullDispatcher

__all__ = ["Application", "NullDispatcher"]
