"""Calls one function of a file, once per line of JSON. Run by windrow as: python3 -c <this> FILE FUNCTION,
and with a third argument only to import the file"""

import asyncio
import importlib.util
import inspect
import json
import os
import sys
import traceback


def load(path, name):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        sys.exit(f"{path} has no function `{name}`")
    return function


def wanted(function, given):
    """Those of the given values that the function has a parameter for."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return given
    for p in parameters:
        if p.name not in given and p.default is p.empty and p.kind is not p.VAR_POSITIONAL:
            raise TypeError(f"{function.__name__}() wants `{p.name}`; it can have: {', '.join(given)}")
    return {p.name: given[p.name] for p in parameters if p.name in given}


def plain(value):
    """Numbers of numpy and the like."""
    return value.item() if hasattr(value, "item") else str(value)


def main(path, name):
    # What the function prints must not come between the replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    function = load(path, name)
    for line in requests:
        try:
            given = json.loads(line)
            reply = function(**wanted(function, given))
            if inspect.isawaitable(reply):
                reply = asyncio.run(reply)
            reply = json.dumps(reply, default=plain, allow_nan=False)
        except Exception as error:
            traceback.print_exc()
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = f" ({os.path.basename(at.filename)}:{at.lineno})" if at.filename != "<string>" else ""
            reply = json.dumps({"error": f"{type(error).__name__}: {error}{where}"})
        replies.write(reply + "\n")
        replies.flush()


if len(sys.argv) > 3:
    load(sys.argv[1], sys.argv[2])
else:
    main(sys.argv[1], sys.argv[2])
