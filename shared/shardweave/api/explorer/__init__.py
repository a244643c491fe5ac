"""The Explorer: a page in the browser on a service's records and shards, for operators, and the routes that only it
uses."""
