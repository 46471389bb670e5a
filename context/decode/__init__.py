"""Reading of JSON in a model's reply, with any text around, and a typed cause of failure."""

from context.decode.decode import decode_json
from context.decode.types import Accept, DecodeCause, Decoded, How, Repair

__all__ = ["Accept", "DecodeCause", "Decoded", "How", "Repair", "decode_json"]
