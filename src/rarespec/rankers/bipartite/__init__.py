"""Known above unlabelled, by a logistic loss or by boosting."""
