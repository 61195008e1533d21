"""The aggregate "skill": its versions, proposals and hand edits."""
