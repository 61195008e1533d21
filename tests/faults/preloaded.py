"""Imported by `multiprocessing`'s fork server before it forks; importing this answers a turn."""

from __future__ import annotations

import gc

from tests.first_turn import answer_a_turn

answer_a_turn()
gc.freeze()
