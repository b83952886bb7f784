// A server of Node's own library for clients_test.py: a page, server-sent events, and WebSocket by hand.
//
//   node server.js        prints its port, and then what a page reports, a line each
'use strict';
const crypto = require('crypto');
const http = require('http');

const page = `<!doctype html>
<title>weir</title>
<link rel="stylesheet" href="/style.css">
<p id="events"></p><p id="echo"></p><p id="fetched"></p>
<script>
const wanted = {events: '1;2;3;', echo: 'through the gateway', fetched: '{"got":{"a":1},"via":"1.1 weir"}'};
const text = (id) => document.getElementById(id).textContent;
const show = (id, more) => {
  document.getElementById(id).textContent += more;
  if (Object.keys(wanted).every((each) => text(each) === wanted[each])) fetch('/report', {method: 'POST', body: 'all shown'});
};
const events = new EventSource('/events');
events.onmessage = (event) => { show('events', event.data + ';'); if (event.data === '3') events.close(); };
const socket = new WebSocket('ws://' + location.host + '/socket');
socket.onopen = () => socket.send('through the gateway');
socket.onmessage = (event) => { show('echo', event.data); socket.close(); };
fetch('/json', {method: 'POST', body: JSON.stringify({a: 1})}).then((answer) => answer.json()).then(
  (json) => show('fetched', JSON.stringify(json)));
</script>
`;

const server = http.createServer((request, response) => {
  const {pathname} = new URL(request.url, 'http://a');
  if (pathname === '/') {
    response.setHeader('Content-Type', 'text/html');
    return response.end(page);
  }
  if (pathname === '/style.css') {
    response.setHeader('Content-Type', 'text/css');
    return response.end('p { color: black }');
  }
  if (pathname === '/json') {
    let body = '';
    request.on('data', (part) => { body += part; });
    return request.on('end', () => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({got: JSON.parse(body), via: request.headers.via}));
    });
  }
  if (pathname === '/events') {
    response.writeHead(200, {'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store'});
    let count = 0;
    const next = () => {
      response.write(`data: ${++count}\n\n`);
      if (count < 3) setTimeout(next, 20); else response.end();
    };
    return next();
  }
  if (pathname === '/endless') {
    // One event for each line of the other connection's asking, so that a test knows what is on its way.
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    response.write('data: begun\n\n');
    listeners.add(response);
    return request.on('close', () => listeners.delete(response));
  }
  if (pathname === '/tell') {
    for (const listener of listeners) listener.write('data: told\n\n');
    return response.end(String(listeners.size));
  }
  if (pathname === '/upload') {
    const digest = crypto.createHash('sha256');
    let size = 0;
    request.on('data', (part) => { digest.update(part); size += part.length; });
    return request.on('end', () => response.end(`${size} ${digest.digest('hex')}\n`));
  }
  if (pathname === '/report') {
    request.on('data', (part) => console.log(String(part)));
    return request.on('end', () => response.end());
  }
  response.statusCode = 404;
  response.end();
});
const listeners = new Set();

// Echoes text messages of up to 125 bytes, which come masked and go back plain.
server.on('upgrade', (request, socket) => {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = crypto.createHash('sha1').update(key).digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
               `Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
  let bytes = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (part) => {
    bytes = Buffer.concat([bytes, part]);
    while (bytes.length >= 6 && bytes.length >= 6 + (bytes[1] & 127)) {
      const size = bytes[1] & 127;
      const text = Buffer.from(bytes.subarray(6, 6 + size).map((byte, i) => byte ^ bytes[2 + i % 4]));
      socket.write(Buffer.concat([Buffer.from([bytes[0], size]), text]));
      if ((bytes[0] & 15) === 8) return socket.end();
      bytes = bytes.subarray(6 + size);
    }
  });
});

server.keepAliveTimeout = 60000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
