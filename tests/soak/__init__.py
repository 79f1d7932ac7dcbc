"""Random scenarios in number, and the laws that all of them keep."""
