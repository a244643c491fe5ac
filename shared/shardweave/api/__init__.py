"""The HTTP API of a schema: operations are values, Powertools serves them.

    operation      one method on one path: what it takes, answers and does
    application    the API: an event of an HTTP API -> what its function returns
    router         operations -> routes of Powertools, which routes and makes the OpenAPI document
    openapi        the document without what says nothing
    paths          templates of paths, and keys in them
    messages       the text of paths and queries, and answers
    bodies         an event -> a JSON object; merge patches
    collection     the operations of one entity
    query_routes   its queries in their JSON form: pages, counts, plans
    lookup_list    lists by a lookup
    batch_routes   many records in one request
    expansion      related records beside those that were asked for
    keys           how a record is named
    preconditions  entity tags, If-Match, If-None-Match
    once           idempotency keys
    caller         who sends a request
    query_bodies   what those take, query_answers what they answer
    list_query     list parameters -> a query
    pages          how pages are asked for, run in time, and written
    models         JSON forms derived from an entity
    records        records -> JSON text
    problems       errors -> problem documents, with every status in one table
    traces         what a log may say of a failure

A service adds operations of its own by giving more `Operation` values.
"""
