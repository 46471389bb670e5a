"""PDF files made by hand: small, valid, and as hostile as a test needs them."""

import zlib
from collections.abc import Sequence


def pdf_of(*pages: str) -> bytes:
    """A PDF with a line of text on each page; a blank page where the text is empty."""
    return assemble([_stream(_show(text)) for text in pages])


def assemble(contents: Sequence[bytes], *, trailer: bytes = b"", more: Sequence[bytes] = ()) -> bytes:
    """A PDF with these content streams, one a page.

    Args:
        contents: The streams, each with its dictionary.
        trailer: Further entries of the trailer.
        more: Further objects, numbered from 100 on.
    """
    first = 10
    kids = b" ".join(b"%d 0 R" % (first + 2 * number) for number in range(len(contents)))
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(contents), kids),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    for number, content in enumerate(contents):
        page = first + 2 * number
        objects[page] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (page + 1)
        )
        objects[page + 1] = content
    top = max(objects)
    return _write(objects | dict(enumerate(more, max(100, top + 1))), trailer)


def bomb(megabytes: int) -> bytes:
    """A PDF whose page grows to so many megabytes when it is read, and is a thousandth of that."""
    return assemble([deflated(b" " * (megabytes * 2**20))])


def slow(operations: int) -> bytes:
    """A PDF whose page takes long to read, though nothing in it is large."""
    show = b"BT /F1 9 Tf 1 0 0 1 50 700 Tm (x) Tj ET\n"
    return assemble([deflated(show * operations)])


def encrypted() -> bytes:
    """A PDF that says it needs a password."""
    entry = (
        b"<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <"
        + b"ab" * 32
        + b"> /U <"
        + b"cd" * 32
        + b"> >>"
    )
    identity = b"/ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>] "
    return assemble([_stream(_show("secret"))], trailer=identity + b"/Encrypt 100 0 R", more=[entry])


def deflated(data: bytes) -> bytes:
    """A compressed stream."""
    packed = zlib.compress(data, 9)
    return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)


def _show(text: str) -> bytes:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return b"BT /F1 12 Tf 72 700 Td (%s) Tj ET" % escaped.encode("latin-1") if text else b""


def _stream(data: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(data), data)


def _write(objects: dict[int, bytes], trailer: bytes) -> bytes:
    out, places = bytearray(b"%PDF-1.4\n"), {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in sorted(places.items()):
        out += b"%d 1\n%010d 00000 n \n" % (number, place)
    size = max(places) + 1
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)
    return bytes(out)
