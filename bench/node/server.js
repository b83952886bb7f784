// The rival of bench_service: two limits per key counted in memory, answered over HTTP. As in its documentation,
// each limit is a limiter of its own, and a union consumes from both.
'use strict';
const http = require('node:http');
const { RateLimiterMemory, RateLimiterUnion } = require('rate-limiter-flexible');

const rpm = new RateLimiterMemory({ keyPrefix: 'rpm', points: 1e12, duration: 60 });
const tpm = new RateLimiterMemory({ keyPrefix: 'tpm', points: 1e12, duration: 60 });
const both = new RateLimiterUnion(rpm, tpm);

function answer(response, status, body) {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}

http.createServer((request, response) => {
  let text = '';
  request.on('data', (chunk) => { text += chunk; });
  request.on('end', () => {
    const { entity, resource, consume } = JSON.parse(text);
    both.consume(`${entity}/${resource}`, consume.rpm)
      .then((left) => answer(response, 200, {
        allowed: true, rpm: left.rpm.remainingPoints, tpm: left.tpm.remainingPoints,
      }))
      .catch(() => answer(response, 429, { allowed: false }));
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
