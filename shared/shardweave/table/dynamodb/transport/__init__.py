"""The direct transport: an implementation of DynamoDB's operations on items without botocore.

    choice         whether it can be used, or botocore is needed
    signing        the head of a request, with its signature
    reply_parser   bytes -> one reply
    retries        the retry decision; `quota`: the retry quota
    exchange       one call and its attempts, without I/O
    calls          operations -> calls, and the check of their answers
    endpoint       the endpoint of requests: addresses and TLS
    connection     one non-blocking socket
    pool           the idle connections of a table, and the limit of those in use
    watch          the events that a round waits for
    rounds         carries out several exchanges in parallel, in the calling thread
    direct         the transport of one table

`signing`, `reply_parser`, `retries`, `exchange` and `calls` do no I/O.
"""
