"""From run folders to statistics and figures; independent of training, so it never needs torch."""
