"""Read models: the log as rows for queries. Decisions never use them."""

from hermes_jobs.views.models import MessageView, SessionView, StepView, TurnStatus, TurnView
from hermes_jobs.views.views import Views
