"""The parts of the benchmark of the fan-out: a server that takes a while for each read, and the sides that ask it.

records   the people in 256 shards, and what a lane's query of them looks like
server    the server, in a process of its own: a page of each shard, 10 ms after it was asked for
sides     one process for each side; it reads pages when told to, and says how long they took
"""
