"""The models of a request to `/graphql` and its answer, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ...values.json_types import left_out


class GraphQLQuery(BaseModel):
    """A document of GraphQL."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    query: str = Field(description="The document.")
    variables: dict[str, Any] | None = Field(None, description="The values of its variables.")
    operationName: str | None = Field(None, description="Which of its operations, where there are several.")  # noqa: N815 - as GraphQL has it
    extensions: dict[str, Any] | None = Field(None, description="Not looked at.")


class GraphQLAnswer(BaseModel):
    """The answer to a document."""

    model_config = ConfigDict(defer_build=True)

    data: dict[str, Any] | None = left_out("What was asked for, by the names of its fields.")
    errors: list[dict[str, Any]] = left_out("What went wrong: `message`, `path`, and `extensions` with a `code`.")
