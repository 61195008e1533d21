"""The scan as every command has it: with what is derived from its tables, before a test imports rules."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.system.bytecode_file import BytecodeFile
from hermes_jobs.text.scan import kept
from hermes_jobs.text.scan.derived import derived

kept.keep_in(BytecodeFile(Path(kept.__file__).parent, "scan"), derived)
