"""The Model Context Protocol at `/mcp`: read and query access for agents."""
