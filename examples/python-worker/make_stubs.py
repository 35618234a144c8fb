"""Generates stubs/ from proto/: python make_stubs.py [directory]"""

import sys
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).parent
PROTO = HERE / "../../proto"


def main(out=HERE / "stubs"):
    Path(out).mkdir(parents=True, exist_ok=True)
    files = [str(path.relative_to(PROTO)) for path in sorted(PROTO.glob("windrow/v1/*.proto"))]
    sys.exit(protoc.main(["protoc", f"-I{PROTO}", f"--python_out={out}", f"--grpc_python_out={out}", *files]))


if __name__ == "__main__":
    main(*sys.argv[1:])
