"""Devices, and one model over several of them."""
