"""`python -m benchmarks.cold.start MODULE PATH QUERY [restored]`: one cold start, as JSON behind what it logs.

The process imports a module and calls its `handler` with one request, as Lambda does; times count from before the
import. `restored`: as SnapStart starts it. A copy of the process is made after the import, a fork whose random state is
put back to what it was, and answers the request; its time counts from there.
"""

from __future__ import annotations

import os
import sys
import time

began = time.perf_counter()


class Context:
    """What Lambda tells a function of its call."""

    function_name = "api"
    function_version = "1"
    memory_limit_in_mb = "1769"
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:api:live"
    aws_request_id = "request-1"

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 20_000


def main(module: str, path: str, query: str, way: str = "") -> None:
    import importlib

    handler = importlib.import_module(module).handler
    imported = time.perf_counter()
    if way == "restored":
        import random

        state = random.getstate()
        copy = os.fork()
        if copy:
            os.waitpid(copy, 0)
            return
        random.setstate(state)
        began_again = time.perf_counter()
    else:
        began_again = imported
    http = {"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "bench"}
    context = {"http": http, "stage": "$default", "requestId": "1", "accountId": "0", "apiId": "a", "timeEpoch": 0}
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "queryStringParameters": dict(pair.split("=") for pair in query.split("&") if pair),
        "headers": {"host": "x"},
        "requestContext": context,
        "isBase64Encoded": False,
    }
    answer = handler(event, Context())
    answered = time.perf_counter()

    import json

    times = {"import": (imported - began) * 1000, "request": (answered - began_again) * 1000}
    print(json.dumps({"status": answer["statusCode"], "body": len(answer["body"]), **times}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
