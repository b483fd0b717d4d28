"""Trained agents at work: films of their episodes, and what they believe."""
