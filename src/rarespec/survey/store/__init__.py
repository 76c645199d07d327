"""How a survey lies on disk: manifest, arrays, catalogue, and how they change safely."""
