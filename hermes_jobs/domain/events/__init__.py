"""The event types that no feature declares: one module per kind of stream, a package for sessions.

Frozen, typed; never changed after release. A field may be added with a default; any other change is a new
type, or an upcast in `hermes_jobs.eventlog.codec`. Id, version, position, time and author are in the
envelope.

All public names of the modules are offered here (`import *`): a list of them would say it a second time.
"""

from __future__ import annotations

from hermes_jobs.domain.events.approval import *
from hermes_jobs.domain.events.child_slots import *
from hermes_jobs.domain.events.consolidation import *
from hermes_jobs.domain.events.embedding import *
from hermes_jobs.domain.events.event import *
from hermes_jobs.domain.events.forgetting import *
from hermes_jobs.domain.events.gateway import *
from hermes_jobs.domain.events.mcp import *
from hermes_jobs.domain.events.memory import *
from hermes_jobs.domain.events.models import *
from hermes_jobs.domain.events.paid import *
from hermes_jobs.domain.events.replay import *
from hermes_jobs.domain.events.schedule import *
from hermes_jobs.domain.events.session import CallEvent, SessionEvent
from hermes_jobs.domain.events.session.compression import *
from hermes_jobs.domain.events.session.delegation import *
from hermes_jobs.domain.events.session.files import *
from hermes_jobs.domain.events.session.input import *
from hermes_jobs.domain.events.session.model_call import *
from hermes_jobs.domain.events.session.reference import *
from hermes_jobs.domain.events.session.review import *
from hermes_jobs.domain.events.session.session import *
from hermes_jobs.domain.events.session.step import *
from hermes_jobs.domain.events.session.tool_call import *
from hermes_jobs.domain.events.session.turn import *
from hermes_jobs.domain.events.skill import *
