"""OpenAI's client without the classes of its API's objects, whose import takes half of its time: answers are
decoded elsewhere, and whoever names such a class gets it.
"""

from __future__ import annotations

from hermes_jobs.system.lazy_packages import lazy_packages

with lazy_packages("openai.types"):
    import openai

__all__ = ["openai"]
