"""A plan or a comparison to take along: JSON, CSV, Markdown, HTML, pictures, commands."""
