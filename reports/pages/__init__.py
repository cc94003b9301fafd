"""The page of a study, and the files beside it."""
