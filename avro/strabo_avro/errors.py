"""What may be wrong with a record.

AvroError
├── Undecodable          the bytes are not such a record: who wrote them must act; dead-letter them
│   └── UnknownSchema    a newer version wrote them: upgrade this process, do not skip the record
└── Unencodable          a value does not fit its field: a bug of the caller
"""

from __future__ import annotations


class AvroError(Exception):
    """The root of this package's errors."""


class Undecodable(AvroError):
    """The bytes are not a record of the kind that was asked for."""


class UnknownSchema(Undecodable):
    """The bytes name a schema that this version does not have.

    `fingerprint` is its CRC-64-AVRO, as in the bytes.
    """

    def __init__(self, fingerprint: bytes, wanted: str) -> None:
        super().__init__(
            f"a record that should be {wanted} was written with the unknown schema {fingerprint.hex()}: "
            "a newer version of Strabo wrote it, upgrade this process"
        )
        self.fingerprint = fingerprint


class Unencodable(AvroError):
    """A record holds a value that its schema does not take."""
