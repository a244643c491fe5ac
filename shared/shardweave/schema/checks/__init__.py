"""What can be wrong with a schema. Each check takes its parts, never the schema itself."""
