"""The lesson behind the Learn pages: KV caching, prefill and decode.

Numbers, tables and words for teaching, without a line of user interface. Each module serves one
page and takes its equations from `planner.formulas`.
"""
