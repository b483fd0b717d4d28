"""What the process that sends says, a line each: one of these, and for some a text."""

ALIVE = "."
FAILED = "!"
DONE = "="
"""The run is over; the next one begins."""
