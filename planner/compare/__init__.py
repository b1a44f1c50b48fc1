"""Several plans side by side."""
