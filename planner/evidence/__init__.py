"""Predicted against measured: every figure that the project carries."""
