"""The stage: what the Plan page shows of a plan, as data, and films of it while a slider moves."""
