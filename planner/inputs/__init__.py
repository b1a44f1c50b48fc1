"""Everything a plan is made of, checked: presets, links, scenarios, questions."""
