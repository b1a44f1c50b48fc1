"""What a plan asks of its devices, and how well published measurements know its times."""
