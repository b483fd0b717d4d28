"""Learning systems side by side on environments of growing size."""
