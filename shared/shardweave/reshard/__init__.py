"""Live re-sharding: every record of an entity moves to another shard space while it is read and written.

phases       the protocol: phases, steps, waits, what leads from one to the next
control      the control record
maps         each process's leased copy of it: which maps to read and write by
"""
