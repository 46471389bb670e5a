"""Read JSON out of a model's reply, whatever stands around it; say typed what is missing."""

from context.decode.decode import decode_json
from context.decode.types import Accept, DecodeCause, Decoded, How, Repair

__all__ = ["Accept", "DecodeCause", "Decoded", "How", "Repair", "decode_json"]
