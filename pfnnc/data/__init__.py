"""Data that ship with the package; all of it is made by the package itself."""
