"""Conversion of PDF to text, page by page. Runs in a process of its own; see `sandbox`."""

from io import BytesIO

from pypdf import PasswordType, PdfReader, overwrite_configuration
from pypdf.errors import DependencyError, LimitReachedError, PyPdfError

from api.artifacts.documents.child import Collector, DocumentLimits, Extracted, UnreadableError, serve

_NO_TEXT = (
    "holds no text: its pages are pictures, as scanned ones are; send it with a text layer, or as plain text"
)


def extract_pdf(data: bytes, limits: DocumentLimits) -> Extracted:
    """Read the text of a PDF; each page starts with a line with its number.

    Raises:
        UnreadableError: The file is not a PDF, encrypted, without text, or over a limit.
    """
    overwrite_configuration(
        zlib_maximum_output_length=limits.most_stream_bytes,
        lzw_maximum_output_length=limits.most_stream_bytes,
        run_length_maximum_output_length=limits.most_stream_bytes,
        array_based_stream_maximum_output_length=limits.most_stream_bytes,
        jbig2dec_binary=None,
    )
    try:
        return _read(data, limits)
    except LimitReachedError:
        raise UnreadableError("is refused: a part of it grows beyond all measure when it is read") from None
    except DependencyError:
        raise UnreadableError("is encrypted in a way that is not read") from None
    except PyPdfError:
        raise UnreadableError("is not a PDF that can be read") from None
    except (MemoryError, RecursionError, UnreadableError):
        raise
    except Exception:  # noqa: BLE001 (a damaged file makes the library fail in any way)
        raise UnreadableError("is damaged: it cannot be read as a PDF") from None


def _read(data: bytes, limits: DocumentLimits) -> Extracted:
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        raise UnreadableError("is encrypted; send it without a password")
    count = len(reader.pages)
    if count > limits.most_pages:
        raise UnreadableError(f"has {count} pages, more than {limits.most_pages}", limit=limits.most_pages)
    collector = Collector(limits.most_chars)
    blank = 0
    for number, page in enumerate(reader.pages, 1):
        text = page.extract_text().strip()
        if text:
            collector.add(f"[page {number}]\n{text}\n\n")
        else:
            blank += 1
    if not collector.parts:
        raise UnreadableError(_NO_TEXT)
    notes = (f"{blank} of {count} pages hold no text",) if blank else ()
    return Extracted("".join(collector.parts).rstrip(), _title(reader), notes)


def _title(reader: PdfReader) -> str:
    title = reader.metadata.title if reader.metadata else None
    return str(title).strip()[:200] if title else ""


if __name__ == "__main__":
    serve(extract_pdf)
