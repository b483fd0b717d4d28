"""One HTML file that shows runs: claims, curves, settings and where the numbers come from."""
