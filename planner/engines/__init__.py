"""Serving engines: what they reserve, and how long they take."""
