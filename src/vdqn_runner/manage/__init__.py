"""Looking after runs that are there: which, how far, what differs; going on and clearing away."""
