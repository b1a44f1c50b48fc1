"""The ways in over HTTP: the API, its description, and the preview of a link."""
