"""Phrases of models to decline, or to ask for a conversation already given."""

from context.languages import all_phrases

REFUSALS = all_phrases(lambda one: one.refusals)
"""First words of a refusal, case-folded, with straight apostrophes."""

REQUESTS_FOR_INPUT = all_phrases(lambda one: one.input_requests)
"""Phrases of a reply that did not see its input, case-folded."""
