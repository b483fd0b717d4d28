"""The claims of the paper as statistics with thresholds that were fixed before any run."""
