# ruff: noqa: E501 - tables in the letters of the language
"""Words of Indonesian."""

from context.languages import Language

LANGUAGE = Language(
    code="id",
    name="Indonesian",
    script="latin",
    stop_words=(
        "yang dan di ke dari untuk dengan ini itu tidak adalah pada akan dalam juga saya kami kita anda bisa sudah atau oleh karena seperti "
        "telah harus ada lebih sebagai tolong apa bagaimana jika belum"
    ),
    telling_letters=None,
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations="bukan tidak belum tanpa",
    which_words=None,
    every_words=None,
    some_words=None,
    actions=None,
    endings=None,
    mail={
        "from": "dari",
        "sent": "dikirim",
        "subject": "subjek|perihal",
        "wrote": "menulis",
        "forwarded": "pesan terusan|pesan asli",
    },
    markers={
        "strong": "selalu|jangan|dilarang|tanpa izin",
        "limit": "maksimal",
    },
    signs=None,
)
