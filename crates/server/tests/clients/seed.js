// The time series that this layout comes from, as its authors wrote it, with the npm client of Redis: what it reads and
// writes must be what Tickmark writes and reads.
//
//   node seed.js PORT fetch|insert string|hash|sorted-set|hyperloglog NAMESPACE

const path = require("path");
const redis = require(path.join(process.env.CLIENTS, "node_modules", "redis"));

function TimeSeries(client, namespace, dataType) {
    this.namespace = namespace;
    this.client = client;
    this.dataType = dataType;
    this.units = { second: 1, minute: 60, hour: 60 * 60, day: 24 * 60 * 60 };
    const quantities = {
        "string": [null, null, null, null],
        "hash": [this.units.minute * 5, this.units.hour * 8, this.units.day * 10, this.units.day * 30],
        "sorted-set": [this.units.minute * 2, this.units.hour * 2, this.units.day * 5, this.units.day * 30],
        "hyperloglog": [null, null, null, null],
    }[dataType];
    this.granularities = {
        "1sec": { name: "1sec", ttl: this.units.hour * 2, duration: this.units.second, quantity: quantities[0] },
        "1min": { name: "1min", ttl: this.units.day * 7, duration: this.units.minute, quantity: quantities[1] },
        "1hour": { name: "1hour", ttl: this.units.day * 60, duration: this.units.hour, quantity: quantities[2] },
        "1day": { name: "1day", ttl: null, duration: this.units.day, quantity: quantities[3] },
    };
}

TimeSeries.prototype.insert = function (timestampInSeconds, thing) {
    for (const granularityName in this.granularities) {
        const granularity = this.granularities[granularityName];
        const key = this._getKeyName(granularity, timestampInSeconds);
        const rounded = this._getRoundedTimestamp(timestampInSeconds, granularity.duration);
        switch (this.dataType) {
            case "string": this.client.incr(key); break;
            case "hash": this.client.hincrby(key, rounded, 1); break;
            case "sorted-set": this.client.zadd(key, rounded, rounded + ":" + thing); break;
            case "hyperloglog": this.client.pfadd(key, thing); break;
        }
        if (granularity.ttl !== null) {
            this.client.expire(key, granularity.ttl);
        }
    }
};

TimeSeries.prototype._getKeyName = function (granularity, timestampInSeconds) {
    const precision = granularity.quantity || granularity.duration;
    return [this.namespace, granularity.name, this._getRoundedTimestamp(timestampInSeconds, precision)].join(":");
};

TimeSeries.prototype._getRoundedTimestamp = function (timestampInSeconds, precision) {
    return Math.floor(timestampInSeconds / precision) * precision;
};

TimeSeries.prototype.fetch = function (granularityName, beginTimestamp, endTimestamp, onComplete) {
    const granularity = this.granularities[granularityName];
    const begin = this._getRoundedTimestamp(beginTimestamp, granularity.duration);
    const end = this._getRoundedTimestamp(endTimestamp, granularity.duration);
    const multi = this.client.multi();
    for (let timestamp = begin; timestamp <= end; timestamp += granularity.duration) {
        const key = this._getKeyName(granularity, timestamp);
        switch (this.dataType) {
            case "string": multi.get(key); break;
            case "hash": multi.hget(key, this._getRoundedTimestamp(timestamp, granularity.duration)); break;
            case "sorted-set": multi.zcount(key, timestamp, timestamp); break;
            case "hyperloglog": multi.pfcount(key); break;
        }
    }
    multi.exec(function (err, replies) {
        if (err) throw err;
        onComplete(replies.map((reply) => parseInt(reply, 10) || 0));
    });
};

const [port, verb, dataType, namespace] = process.argv.slice(2);
const client = redis.createClient({ port: Number(port) });
const series = new TimeSeries(client, namespace, dataType);
if (verb === "insert") {
    if (dataType === "string" || dataType === "hash") {
        [0, 1, 1, 3, 61].forEach((at) => series.insert(at));
    } else {
        [[0, "user:max"], [0, "user:max"], [1, "user:hugo"], [1, "user:renata"], [3, "user:hugo"], [61, "user:kc"]]
            .forEach(([at, thing]) => series.insert(at, thing));
    }
    client.quit();
} else {
    series.fetch("1sec", 0, 4, function (seconds) {
        series.fetch("1min", 0, 120, function (minutes) {
            console.log(JSON.stringify([seconds, minutes]));
            client.quit();
        });
    });
}
