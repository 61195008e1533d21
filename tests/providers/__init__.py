"""Scripted servers that enforce what each provider documents, and one suite that runs against all of them."""
