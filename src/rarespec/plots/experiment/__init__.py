"""The figures of an experiment, one file each; `figures` draws them all."""
