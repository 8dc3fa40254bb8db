"""The sandbox over HTTPS: what is asked, in which form, and how it is answered."""
