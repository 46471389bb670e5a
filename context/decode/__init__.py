"""Reading of JSON in a model's reply, with any text around, and a typed cause of failure."""

from context.decode.decode import decode_json
from context.decode.reader import Accept, AnswerPlace, DecodeCause, Decoded, ReplyRepair

__all__ = ["Accept", "AnswerPlace", "DecodeCause", "Decoded", "ReplyRepair", "decode_json"]
