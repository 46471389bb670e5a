"""Two releases side by side on one database, under traffic: forward, and back."""
