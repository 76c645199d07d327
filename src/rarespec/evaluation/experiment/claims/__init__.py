"""What Du et al. (2016) say, claim by claim, each checked against the results."""
