"""The HTTP API of a schema: operations are values, Powertools serves them.

    operation            one method on one path: parameters, answers and handler
    app                  the API: from an event of an HTTP API to the return value of its function
    router               operations -> routes of Powertools, which routes requests and makes the OpenAPI document
    openapi              cleaning the OpenAPI document
    paths, http          templates of paths; the text of paths and queries; answers
    bodies, patches      an event -> a JSON object; merge patches
    graphql/             the GraphQL API, which is imported on its route only
    clients/             typed clients, written from the schema
    routes/              the operations of an entity, of events, lookups, transactions, re-shards
    route_*              a service's own routes: arguments, answers and forms
    pages, expansion     pages of queries; related records
    preconditions        entity tags, If-Match, If-None-Match
    idempotency          idempotency keys
    authorizer_claims    the caller of a request
    caller_database      a database with the access rights of a caller
    operators            the principals that may start re-shards and send events
    rate_limit           rate limits of tenants
    problems             errors -> problem documents, with all statuses in one table
    audit, child_trail   the audit trail
    emf_metrics, safe_traceback   metrics; tracebacks without values

A service adds operations of its own by giving more `Operation` values.
"""
