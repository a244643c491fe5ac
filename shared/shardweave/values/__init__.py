"""A value and its forms: in Python, stored, in JSON, and as text that is ordered as the values are. Pure."""
