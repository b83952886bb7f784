// An Express application with limited handlers. Writes a line to the file for each request that reaches one.
//
//     node upstream.js FILE    prints its port
'use strict';
const fs = require('fs');
const express = require('express');

const app = express();
const reached = fs.openSync(process.argv[2], 'a');
app.set('trust proxy', 1);

// As CGI names them: servers that follow it cannot tell a dash from an underscore, and take the last of several.
function cgi(request, name) {
  let value = null;
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    if (request.rawHeaders[i].toLowerCase().replaceAll('_', '-') === name) value = request.rawHeaders[i + 1];
  }
  return value;
}

// The ways in which applications read who sends a request. Trailers are read where they are merged with the fields.
const readers = {
  api: (request) => ({
    field: request.get('x-api-key') ?? null,
    cgi: cgi(request, 'x-api-key'),
    trailer: request.get('x-api-key') ?? request.trailers['x-api-key'] ?? null,
  }),
  tenants: (request) => ({ path: request.params.id }),
  bearer: (request) => {
    const value = request.get('authorization') ?? '';
    const [scheme, token] = value.split(' ');
    return {
      pattern: /^Bearer\s+(\S+)/i.exec(value)?.[1] ?? null,
      split: (scheme.toLowerCase() === 'bearer' && token) || null,
      cgi: /^Bearer\s+(\S+)/i.exec(cgi(request, 'authorization') ?? '')?.[1] ?? null,
    };
  },
  ip: (request) => ({ field: request.ip, first: request.get('x-forwarded-for').split(',')[0].trim(),
    real: request.get('x-real-ip') ?? null, cgi: cgi(request, 'x-forwarded-for') }),
  host: (request) => ({ field: request.ip }),
};

function limited(handler) {
  return (request, response) => {
    // The body first, so that trailers are there.
    request.resume().on('end', () => {
      fs.writeSync(reached, JSON.stringify({
        handler, variant: request.get('x-variant'), target: request.originalUrl, keys: readers[handler](request),
        address: request.get('x-forwarded-for'),
      }) + '\n');
      response.send('limited');
    });
  };
}

app.use((request, response, next) => (request.hostname?.toLowerCase() === 'limited.example' ? limited('host')(request, response) : next()));
app.all('/api', limited('api'));
app.use('/api', limited('api'));
app.all('/tenants/:id', limited('tenants'));
app.use('/tenants/:id', limited('tenants'));
app.use('/bearer', limited('bearer'));
app.use('/ip', limited('ip'));
app.use((request, response) => request.resume().on('end', () => response.send('open')));
// Errors are answered without a page that shows them.
app.use((error, request, response, next) => response.status(error.status ?? 500).end());

const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
