"""What Strabo puts on the wire:

one dataclass a record, its Avro schema, and the codec between record and bytes.
"""
