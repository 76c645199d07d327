"""Feature vectors and a few known examples to scores: scikit-learn estimators, y: 1 = known, 0 = unlabelled."""
