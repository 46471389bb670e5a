"""The ledger of model calls: what they cost, by day, and the caps on spending."""
