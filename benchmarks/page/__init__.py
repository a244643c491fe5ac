"""The parts of the comparison of paging: the people, and the other side, which reads them from a table in memory that
pages as DynamoDB does."""
