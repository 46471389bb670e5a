# ruff: noqa: E501 - tables in the letters of the language
"""Words of Vietnamese."""

from context.languages import Language

LANGUAGE = Language(
    code="vi",
    name="Vietnamese",
    script="latin",
    stop_words=(
        "là và của có không được các một cho trong với này đã người những để khi từ đến tôi bạn cũng như vào ra nhưng thì sẽ phải rất hay "
        "hoặc nếu hãy đó nào"
    ),
    telling_letters="ạảấầẩậắằặẹẻẽếềểễệịọỏốồổỗộớờởợụủứừửữựỳỷỹđ",
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations="không chưa",
    which_words=None,
    every_words=None,
    some_words=None,
    actions=None,
    endings=None,
    mail={
        "from": "từ|người gửi",
        "sent": "đã gửi|ngày gửi",
        "subject": "chủ đề|tiêu đề",
        "wrote": "đã viết",
        "forwarded": "thư đã chuyển tiếp|tin nhắn gốc",
    },
    markers={
        "strong": "luôn|đừng|không được|không bao giờ",
        "limit": "tối đa",
    },
    signs=None,
)
