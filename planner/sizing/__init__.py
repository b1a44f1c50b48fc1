"""Sizing: from a workload and a promise to devices, their cost, and what would change it."""
