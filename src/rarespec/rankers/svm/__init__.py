"""Support vector machines: bagging, biased, one-class, data description."""
