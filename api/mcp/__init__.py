"""The Model Context Protocol at `/mcp`: what agents may read and ask."""
