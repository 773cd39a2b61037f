"""Makes tiny.mmdb: a MaxMind file that knows two networks, written by hand so that nothing but Python is needed.

203.0.113.0/24 is HK, 198.51.100.0/24 is DE, everything else is unknown. IPv4 only, records of 24 bits.
"""

import ipaddress
import pathlib
import struct


def text(value):
    data = value.encode()
    return bytes([2 << 5 | len(data)]) + data


def uint(kind, value):
    data = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([kind << 5 | len(data)]) + data if kind < 8 else bytes([len(data), kind - 7]) + data


def mapping(pairs):
    return bytes([7 << 5 | len(pairs)]) + b"".join(text(key) + value for key, value in pairs)


def country(code):
    return mapping([("country", mapping([("iso_code", text(code))]))])


networks = [("203.0.113.0/24", "HK"), ("198.51.100.0/24", "DE")]
data, places = b"", {}
for _, code in networks:
    places[code] = len(data)
    data += country(code)

nodes = [[None, None]]
for network, code in networks:
    network = ipaddress.ip_network(network)
    bits = format(int(network.network_address), "032b")[: network.prefixlen]
    node = 0
    for bit in bits[:-1]:
        if nodes[node][int(bit)] is None:
            nodes.append([None, None])
            nodes[node][int(bit)] = len(nodes) - 1
        node = nodes[node][int(bit)]
    nodes[node][int(bits[-1])] = code

tree = b""
for pair in nodes:
    for record in pair:
        value = len(nodes) if record is None else record if isinstance(record, int) else len(nodes) + 16 + places[record]
        tree += struct.pack(">I", value)[1:]

metadata = mapping([
    ("binary_format_major_version", uint(5, 2)),
    ("binary_format_minor_version", uint(5, 0)),
    ("build_epoch", uint(9, 1_700_000_000)),
    ("database_type", text("Tiny-Country")),
    ("description", mapping([("en", text("two networks"))])),
    ("ip_version", uint(5, 4)),
    ("languages", bytes([1, 11 - 7]) + text("en")),
    ("node_count", uint(6, len(nodes))),
    ("record_size", uint(5, 24)),
])
file = tree + bytes(16) + data + b"\xab\xcd\xefMaxMind.com" + metadata
pathlib.Path(__file__).with_name("tiny.mmdb").write_bytes(file)
