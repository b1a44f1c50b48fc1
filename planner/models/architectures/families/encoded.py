"""Decoders over an encoder: they store their own tokens and, once more, the source's."""

ENCODED = {}
