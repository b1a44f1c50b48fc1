"""Pictures: what is drawn of plans, as named data, and their charts in Altair."""
