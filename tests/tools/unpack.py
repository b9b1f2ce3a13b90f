"""Takes one program out of a wheel: unpack.py WHEEL WAY SHA256 OUT.

WAY is a file name pattern; with `!` the file found is itself an archive (zip or tar) and the
pattern after it is looked up inside. The program is written only if its sha256 is the given one.
"""

import fnmatch
import hashlib
import io
import os
import sys
import tarfile
import zipfile


def members(archive):
    """The names in an archive given as bytes, and a function that reads one of them."""
    if zipfile.is_zipfile(io.BytesIO(archive)):
        opened = zipfile.ZipFile(io.BytesIO(archive))
        return opened.namelist(), opened.read
    opened = tarfile.open(fileobj=io.BytesIO(archive))
    return opened.getnames(), lambda name: opened.extractfile(name).read()


wheel, way, sha256, out = sys.argv[1:]
with open(wheel, "rb") as file:
    content = file.read()
for pattern in way.split("!"):
    names, read = members(content)
    found = fnmatch.filter(names, pattern)
    if len(found) != 1:
        sys.exit(f"{pattern}: {len(found)} files of that name in the archive, expected one")
    content = read(found[0])
actual = hashlib.sha256(content).hexdigest()
if actual != sha256:
    sys.exit(f"{way}: sha256 is {actual}, expected {sha256}")
with open(out, "wb") as file:
    file.write(content)
os.chmod(out, 0o755)
