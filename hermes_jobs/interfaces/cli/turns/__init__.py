"""Turns on the command line: submit options, live output, waiting, and the commands of `turns`."""
