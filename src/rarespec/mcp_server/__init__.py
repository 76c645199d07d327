"""Tools for language-model clients over stdio; the only room that imports the mcp package."""
