"""The plain agent's tool, as a function of one's own for hermes-jobs."""

import os
from pathlib import Path

import hermes_jobs


@hermes_jobs.tool(effect="write")
def pay(amount: int) -> str:
    """Pay an invoice."""
    with Path(os.environ["LEDGER"]).open("a") as ledger:
        ledger.write(f"paid {amount}\n")
    return f"{amount} is paid."
