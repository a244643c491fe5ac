"""Wrong uses, each of which a type checker refuses."""

from __future__ import annotations

from client import Between, Client, Prefix, Problem

client = Client("http://127.0.0.1")
project = "7a21ecfb-1e7b-5ee3-b6e7-7d3e888e372f"

client.issues.by_grid_title(title="a")  # wrong: the index needs the project
client.issues.by_grid_title(projectId=project, num=Between(1))  # wrong: the title comes before the number
client.issues.by_grid_title(projectId=project, title=Prefix("a"), num=1)  # wrong: nothing follows a prefix
client.issues.by_grid_title(projectId=project, reporter="ann")  # wrong: the index has no reporter
client.issues.by_grid_num(projectId=project, num=Prefix("1"))  # wrong: a number has no prefix
client.issues.by_grid_state(projectId=project, state="shut")  # wrong: there is no such state
client.issues.by_grid_num(projectId=project, limit="5")  # wrong: a limit is a number
client.issues.by_grid_owner(projectId=project)  # wrong: there is no such index
client.issues.create({"projectId": project})  # wrong: an issue has a title
client.issues.create({"projectId": project, "title": "a", "titel": "b"})  # wrong: there is no such property
client.issues.update("t", "id", {"title": "a"})  # wrong: the id alone names an issue
print(client.issues.get("i").record)  # wrong: it may not be there
client.merges.create({"sourceId": "a"})  # wrong: merges are not written by hand
client.set_custom_values({"issueId": "i"})  # wrong: the values are missing
client.issue_grid(sort="num")  # wrong: the project is missing


def code(problem: Problem) -> bool:
    """Whether it is one that there is not."""
    return problem.code == "no_such_code"  # wrong: there is no such code
