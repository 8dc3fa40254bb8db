"""What an API server makes of a write before it is stored: identity, admission, allocation, definitions, deletion."""
