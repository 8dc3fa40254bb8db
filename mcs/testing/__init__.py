"""What only tests need: virtual time, builders of objects, and clusters in memory."""
