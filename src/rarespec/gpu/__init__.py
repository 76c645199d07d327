"""The same work on a GPU: features, components, TopPush on all bags at once, scoring, exact neighbours."""
