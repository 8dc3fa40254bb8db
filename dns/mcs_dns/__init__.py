"""Services between clusters, answered by name: the DNS server of the clusterset zone."""
