"""What remit costs, as ratios to a loop written by hand, measured in the same run."""
