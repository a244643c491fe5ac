"""The one-machine runtime: the same API as the deployed function, over HTTP on loopback, on an embedded table.

__main__      the command, `python -m shardweave.local`
serve         from arguments to a running server
server        the socket, the signals, the ready line
asgi          the API as an ASGI application, in threads
swagger       the page that shows the OpenAPI document
loading       writes sample data, resumes interrupted loads
poller        passes the changes of the table to their consumers
"""
