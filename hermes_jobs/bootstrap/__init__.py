"""Composition root: settings in, a working application out. The only place that names adapters.

`Application` holds each part once: `SharedParts` what a process has under all settings, `AgentParts` what
follows from some; each other module makes one part of the values that it is given.
"""

from hermes_jobs.bootstrap.application import Application
from hermes_jobs.bootstrap.shared_parts import NullDispatcher
