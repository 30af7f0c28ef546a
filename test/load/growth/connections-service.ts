/* Sends an event per second on each stream. */
import { createServer } from 'node:http'

createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
  const timer = setInterval(() => response.write(`data: {"at":${Date.now()}}\n\n`), 1_000)
  response.on('close', () => clearInterval(timer))
}).listen(Number(process.env.PORT), '127.0.0.1')
