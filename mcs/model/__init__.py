"""Values that everything else speaks in: names, Kubernetes objects as frozen structs, actions.

Nothing here decides, waits or touches a server. Structs hold the fields this project reads or writes; every
other field of an object on the wire is ignored when it is decoded.
"""
