// rate-limiter-flexible on Redis: the union of two limits, so many calls at a time. Prints decisions per second and
// microseconds of CPU per decision.
const Redis = require('ioredis');
const { RateLimiterRedis, RateLimiterUnion } = require('rate-limiter-flexible');

const [port, count, width] = process.argv.slice(2).map(Number);
const client = new Redis(port, '127.0.0.1', { enableAutoPipelining: true });
const limit = (keyPrefix) =>
  new RateLimiterRedis({ storeClient: client, keyPrefix, points: 1e12, duration: 3600 });
const limiter = new RateLimiterUnion(limit('rpm'), limit('tpm'));

async function caller(calls) {
  for (let i = 0; i < calls; i++) await limiter.consume('key-' + (i % 100), 1);
}

async function run(calls) {
  await Promise.all(Array.from({ length: width }, () => caller(Math.floor(calls / width))));
}

(async () => {
  await run(count / 5);
  const began = process.hrtime.bigint();
  const before = process.cpuUsage();
  await run(count);
  const spent = process.cpuUsage(before);
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  console.log(`${(count / seconds).toFixed(0)} ${((spent.user + spent.system) / count).toFixed(2)}`);
  client.disconnect();
})();
