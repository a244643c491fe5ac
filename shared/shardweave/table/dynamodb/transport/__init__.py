"""The direct transport: an implementation of DynamoDB's operations on items without botocore.

    choice         whether it may be used, or botocore is needed
    signing        the head of a request, with its signature
    reply_parser   bytes -> one reply
    retries        the decision to send again; `quota` what that may cost
    exchange       one call and its attempts, without input or output
    calls          operations -> calls, and whether an answer is one to the request
    endpoint       where requests go: addresses and TLS
    connection     one socket that never blocks
    pool           the idle connections of a table, and the budget of those in use
    watch          what a round waits for
    rounds         carries several exchanges out at once, in the thread that asks
    direct         all of it for one table

`signing`, `reply_parser`, `retries`, `exchange` and `calls` do no I/O.
"""
