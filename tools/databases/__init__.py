"""Databases that a person named in the settings, to be read."""
