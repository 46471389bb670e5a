"""What a new message is about: which tools, how much memory and how much thought its answer needs."""
