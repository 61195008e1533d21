"""Detection of what a text must not bring into prompts or storage: orders to agents, exfiltration, secrets.

A pattern is no proof: the scan keeps known tricks out and reports them, and nothing else relies on it. Rules
ask for combinations, so that ordinary text about security, prompts and shells passes.
"""
