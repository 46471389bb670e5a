#!/bin/sh
# Install the packages of an image as the image holds them: sh packages.sh ENVIRONMENT LOCK
set -eu
python3 -m pip --python "$1/bin/python" install --quiet --no-cache-dir --no-compile --require-hashes -r "$2"
# Debug symbols of extension modules: a sixth of the API's packages. Bundled libraries (*.so.3) stay as they are,
# since a library whose paths were rewritten may not survive.
find "$1/lib" -name '*.so' -exec strip --strip-debug {} +
# Bytecode of all that may be imported: a read-only root takes none later.
"$1/bin/python" -m compileall -q -x '/(lexers|styles|testing|mssql|mysql|oracle)/' "$1/lib"
