"""A capacity planner for serving large language models.

>>> from planner import Scenario, evaluate
>>> found = evaluate(Scenario(model="lesson-7b-gqa", concurrency=16, context=8192))
>>> print(found.fits, found.tpot_s.value, found.max_concurrency)
True 0.031179869184 61.0

This package needs NumPy alone; tables need pandas and pictures Altair (`planner.charts`), the
browser pages Streamlit (`planner.pages`).
"""

__version__ = "0.1.0"  # of the app, as reports carry it

from planner.inputs.scenario import Scenario, decode, encode
from planner.models.model import LayerGroup, Model
from planner.plan import Plan, plan
from planner.serving import Evaluation, evaluate
from planner.sizing.steady import Sizing, size
from planner.sizing.workload import Lengths, Promise, Workload

__all__ = [
    "Evaluation",
    "LayerGroup",
    "Lengths",
    "Model",
    "Plan",
    "Promise",
    "Scenario",
    "Sizing",
    "Workload",
    "__version__",
    "decode",
    "encode",
    "evaluate",
    "plan",
    "size",
]
