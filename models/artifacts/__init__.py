"""Stored artifacts: large results and documents, their summaries, plans and uses."""
