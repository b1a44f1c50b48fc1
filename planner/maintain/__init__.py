"""What maintainers run to renew presets/, and the files it works from.

Nothing that a user runs imports this folder; a test holds that.
"""
