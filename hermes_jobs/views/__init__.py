"""Read models: what the log says, as rows that answer questions. Nothing decides from them."""

from hermes_jobs.views.models import MessageView, SessionView, StepView, TurnStatus, TurnView
from hermes_jobs.views.views import Views
