"""The checks of a schema. Each check takes the parts of a schema, never the schema itself."""
