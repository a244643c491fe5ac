"""GraphQL from the declaration: `POST /graphql`, with the same records, rights and limits as the rest of the API."""
