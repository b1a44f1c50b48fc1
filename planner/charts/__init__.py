"""Plans as drawings, and drawings as Altair charts."""
