#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts a summary of gpubench on the pull request (GitHub) or merge request (GitLab) of this job; the next one replaces it.

Usage: comment.py SUMMARY.md
GitHub: GITHUB_TOKEN with `pull-requests: write`, and PULL_REQUEST, its number.
GitLab: COMMENT_TOKEN, a project access token with the scope `api`; the rest is there in a pipeline of a merge request.
"""
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

MARK = "<!-- gpubench -->"
LONGEST = 60_000  # GitHub takes 65 536


def call(method, address, headers, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data=data, method=method, headers={**headers, "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def place(environment):
    """(address of the comments, address of one, the method that replaces one, headers)."""
    if environment.get("GITHUB_ACTIONS"):
        issues = f"{environment['GITHUB_API_URL']}/repos/{environment['GITHUB_REPOSITORY']}/issues"
        return (f"{issues}/{int(environment['PULL_REQUEST'])}/comments", f"{issues}/comments", "PATCH",
                {"Authorization": f"Bearer {environment['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"})
    notes = f"{environment['CI_API_V4_URL']}/projects/{int(environment['CI_PROJECT_ID'])}/merge_requests/{int(environment['CI_MERGE_REQUEST_IID'])}/notes"
    return notes, notes, "PUT", {"PRIVATE-TOKEN": environment["COMMENT_TOKEN"]}


def main(arguments, environment):
    if len(arguments) != 1:
        sys.exit("comment.py: give one summary, as gpubench gate check --summary=FILE.md writes it.")
    try:
        text = pathlib.Path(arguments[0]).read_text(encoding="utf-8")
    except OSError as error:
        sys.exit(f"comment.py: there is no summary to comment with: {error}")
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit("\n", 1)[0] + "\n\nThe rest is in the job's artifacts.\n"
    try:
        comments, one, replace, headers = place(environment)
    except KeyError as missing:
        sys.exit(f"comment.py: {missing.args[0]} is not set, so there is no place to comment on. See the head of this file.")
    body = {"body": f"{MARK}\n{text}"}
    try:
        old = [comment["id"] for comment in call("GET", f"{comments}?per_page=100", headers) if (comment["body"] or "").startswith(MARK)]
        if old:
            call(replace, f"{one}/{int(old[0])}", headers, body)
        else:
            call("POST", comments, headers, body)
    except urllib.error.URLError as error:
        sys.exit(f"comment.py: the comment was not written: {error}. Check the token and its permissions.")


if __name__ == "__main__":
    main(sys.argv[1:], os.environ)
