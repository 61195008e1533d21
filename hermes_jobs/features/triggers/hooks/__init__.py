"""Hooks: triggers that other machines fire over HTTP, by signed requests to `serve`."""
