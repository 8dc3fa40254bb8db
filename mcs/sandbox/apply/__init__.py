"""How an API server writes: patches, field ownership, defaults and validation as functions on JSON objects.

Nothing here stores, listens or waits. Objects are plain JSON values (dicts, lists, scalars) and are never
changed in place: each function returns a new object that may share unchanged parts with its arguments.
"""
