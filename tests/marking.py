"""What stands in each line of a lesson that a student replaces."""

MARK = "your code"
