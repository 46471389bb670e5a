"""What background work costs, and what it saves: conversations in lockstep with the background."""
