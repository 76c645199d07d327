"""The job: a survey and a few known examples in, a ranking of the rest out, with how far down it is worth looking."""
