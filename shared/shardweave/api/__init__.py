"""The HTTP API of a schema, without a web framework: requests and answers are values.

    messages       a request and its answer
    operation      one method on one path: what it takes, answers and does
    application    the API: routes a request, checks it, answers problems
    collection     the operations of one entity
    list_query     list parameters -> a query
    models         JSON forms derived from an entity
    bodies         bytes -> a JSON object; merge patches
    records        records -> JSON text
    problems       errors -> problem documents, with every status in one table
    openapi        operations -> the OpenAPI document
    lambda_events  API Gateway's events -> requests; answers -> what Lambda returns
    traces         what a log may say of a failure

A service adds operations of its own by giving more `Operation` values.
"""
