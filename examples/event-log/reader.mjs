/*
 * Copies a feed of Portico into a Redis stream. README.md explains it.
 *
 *   PORTICO_FEED=https://portico.example.com/api/v1/consumer/events PORTICO_TOKEN=ptk_… REDIS_URL=redis://127.0.0.1:6379 \
 *     node examples/event-log/reader.mjs
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'

const { PORTICO_FEED, PORTICO_TOKEN, PORTICO_HEADERS = '{}', REDIS_URL = 'redis://127.0.0.1:6379' } = process.env

if (!PORTICO_FEED || !PORTICO_TOKEN) {
  console.error('Set PORTICO_FEED and PORTICO_TOKEN: see README.md.')
  process.exit(2)
}

/** Both keys are in one slot of a cluster. */
const [stream, cursorKey] = ['{portico}:events', '{portico}:events:cursor']

/** The entries and the cursor change together. A reader whose cursor is old changes nothing. */
const append = `
  if (redis.call('GET', KEYS[2]) or '') ~= ARGV[1] then return 0 end
  for i = 3, #ARGV do
    redis.call('XADD', KEYS[1], 'MAXLEN', '~', 1000000, '*', 'event', ARGV[i])
  end
  redis.call('SET', KEYS[2], ARGV[2])
  return 1`

const redis = new Redis(REDIS_URL, { commandTimeout: 5_000 })
redis.on('error', (error) => console.error(`Redis: ${error.message}`))

/** Returns a page of the feed. Throws if Portico does not answer with one. */
async function read(after) {
  const url = new URL(PORTICO_FEED)
  url.searchParams.set('limit', '500')
  if (after !== '') url.searchParams.set('after', after)
  const headers = { authorization: `Bearer ${PORTICO_TOKEN}`, ...JSON.parse(PORTICO_HEADERS) }
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(15_000) })
  if (response.status === 410) {
    const oldest = response.headers.get('x-oldest-cursor')
    console.error(`events were deleted before they were read; to continue after them: SET ${cursorKey} ${oldest}`)
    process.exit(1)
  }
  if (response.status !== 200) throw new Error(`Portico: ${response.status} ${await response.text()}`)
  return (await response.json()).data
}

/** Returns whether there is more to read. */
async function copyPage() {
  const after = (await redis.get(cursorKey)) ?? ''
  const { events, nextCursor, hasMore } = await read(after)
  const entries = events.map((event) => JSON.stringify(event))
  if (nextCursor !== after) await redis.eval(append, 2, stream, cursorKey, after, nextCursor, ...entries)
  return hasMore
}

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopping.abort())

while (!stopping.signal.aborted) {
  const hasMore = await copyPage().catch((error) => {
    console.error(error.message)
    return false
  })
  if (!hasMore) await pause(1_000, undefined, { signal: stopping.signal }).catch(() => undefined)
}
redis.disconnect()
