"""The checks of `doctor`: one module for each part of an installation."""
