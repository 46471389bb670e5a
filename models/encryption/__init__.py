"""Encryption of stored text: ciphers, keys and keys that were forgotten."""
