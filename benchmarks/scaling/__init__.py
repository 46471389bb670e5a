"""From measured service times to ten million sessions: what each step costs, and what it asks for."""
