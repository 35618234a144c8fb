"""The cases, one per function. A docstring is what the report says of it."""

CASES = []


def case(*servers):
    """A case and the servers that it needs."""
    def add(function):
        CASES.append((function, servers))
        return function
    return add


def expect(condition, what):
    if not condition:
        from processes import Failed
        raise Failed(what)
