"""The event types that no feature declares: one module per kind of stream, a package for sessions.

Frozen, typed; never changed after release. A field may be added with a default; any other change is a new
type, or an upcast in `hermes_jobs.kernel.log.codec`. Id, version, position, time and author are in the
envelope.

All public names of the modules are offered here (`import *`): a list of them would say it a second time.
"""

from __future__ import annotations

from hermes_jobs.kernel.events.approval import *
from hermes_jobs.kernel.events.child_slots import *
from hermes_jobs.kernel.events.event import *
from hermes_jobs.kernel.events.forgetting import *
from hermes_jobs.kernel.events.helper_calls import *
from hermes_jobs.kernel.events.listener import *
from hermes_jobs.kernel.events.models import *
from hermes_jobs.kernel.events.origins import *
from hermes_jobs.kernel.events.session import CallEvent, SessionEvent
from hermes_jobs.kernel.events.session.compression import *
from hermes_jobs.kernel.events.session.delegation import *
from hermes_jobs.kernel.events.session.files import *
from hermes_jobs.kernel.events.session.input import *
from hermes_jobs.kernel.events.session.model_call import *
from hermes_jobs.kernel.events.session.reference import *
from hermes_jobs.kernel.events.session.review import *
from hermes_jobs.kernel.events.session.session import *
from hermes_jobs.kernel.events.session.step import *
from hermes_jobs.kernel.events.session.tool_call import *
from hermes_jobs.kernel.events.session.turn import *
