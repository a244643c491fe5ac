"""Conversions of values between Python, the stored form, JSON, and key text that sorts as the values do. Pure."""
