"""Writes with the client of InfluxDB, as its users do: python influx.py URL TOKEN"""

import sys

from influxdb_client import InfluxDBClient, Point, WritePrecision
from influxdb_client.client.write_api import SYNCHRONOUS

url, token = sys.argv[1:]
with InfluxDBClient(url=url, token=token, org="o", enable_gzip=True) as client:
    with client.write_api(write_options=SYNCHRONOUS) as api:
        api.write(
            bucket="b",
            record=[
                Point("ev").tag("s", "item1").field("n", 3).field("x", 0.5).time(1_700_000_000, WritePrecision.S),
                Point("ev").tag("s", "item1").field("n", 4).time(1_700_000_000, WritePrecision.S),
                Point("my ev").tag("a b", "c,d=e").field("yes", True).field("no", False).field("text", 'say "hi", x=y')
                .time(1_700_000_001, WritePrecision.S),
            ],
            write_precision=WritePrecision.S,
        )
        api.write(bucket="b", record="ev,s=item1 n=1i 1700000000000000000\nev,s=item1 n=2u 1700000000999999999")
        api.write(bucket="b", record={"measurement": "now", "fields": {"n": 1}})
with InfluxDBClient(url=url, token=token, org="o") as client:
    with client.write_api() as batching:
        for index in range(1_000):
            batching.write(bucket="b", record=Point("many").field("n", 1).time(index, WritePrecision.S))
