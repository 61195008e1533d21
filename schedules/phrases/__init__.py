"""Splits a sentence into its timing and its task, or refuses it: `every weekday at 9 check my mail`."""

from schedules.phrases.moments import Moment, parse_moment
from schedules.phrases.outcome import Reason, Refused, Understood
from schedules.phrases.parser import parse
from schedules.phrases.proposals import INSTRUCTIONS, TimingProposal, may_ask, verify_proposal
