"""Text: language, sentences, terms, names, figures and the marks that every text may carry."""
