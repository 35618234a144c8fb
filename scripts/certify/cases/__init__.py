"""The cases, one per function. A docstring is what the report says of it."""

CASES = []


def case(*servers, only_by_name=False):
    """A case and the servers that it needs. One that has not passed yet runs only when it is named."""
    def add(function):
        function.only_by_name = only_by_name
        CASES.append((function, servers))
        return function
    return add


def expect(condition, what):
    if not condition:
        from processes import Failed
        raise Failed(what)
