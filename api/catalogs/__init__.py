"""Routes of tool catalogs and context budgets, with their caches."""
