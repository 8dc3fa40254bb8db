"""What only tests need: virtual time and builders of objects."""
