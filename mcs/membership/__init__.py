"""Who is in the clusterset, and since when somebody is missing. Pure."""
