"""What a model is: its layers, formats and notation, out of a config.json or from the hub."""
