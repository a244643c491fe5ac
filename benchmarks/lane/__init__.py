"""The parts of the benchmark of a lane: a server that answers in another process, and the sides that ask it.

records   what the server answers, and the request that asks for it
server    the server: no database, one prepared page for each table name
sides     one process for each library; it runs lanes when told to, and says what they cost
peer      the environment of the library that the product does not use
"""
