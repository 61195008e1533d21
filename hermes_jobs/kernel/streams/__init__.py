"""What all kinds of streams share: kinds, decisions, reactions, accounts, forgetting.

Pure: no clock, no random, no I/O.
"""
