"""A capacity planner for serving large language models.

>>> from planner import Scenario, plan
>>> round(plan(Scenario(model="lesson-7b-gqa", concurrency=16, context=8192)).decode_step_s, 4)
0.0312

This package needs NumPy alone; tables need pandas (`planner.sweep`), pictures Altair
(`planner.charts`) and the browser pages Streamlit (`planner.pages`).
"""

__version__ = "0.1.0"  # of the app, as reports carry it

from planner.inputs.scenario import Scenario, decode, encode
from planner.models.model import LayerGroup, Model
from planner.plan import Plan, plan

__all__ = ["LayerGroup", "Model", "Plan", "Scenario", "__version__", "decode", "encode", "plan"]
