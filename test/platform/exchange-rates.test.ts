import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { fixedRates, highestRate, openRateProvider, type Rates } from '../../src/platform/exchange-rates.ts'
import { testClock } from '../banking/world.ts'

let provider: Server
let url = ''
let respond: (response: ServerResponse) => void
function json(body: unknown) {
  return (response: ServerResponse) => response.end(JSON.stringify(body))
}

beforeAll(async () => {
  provider = createServer((_request, response) => respond(response)).listen(0, '127.0.0.1')
  await once(provider, 'listening')
  const address = provider.address()
  url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`
})
afterAll(() => provider.close())

const clock = testClock()
function asOf() {
  return new Date(clock.now()).toISOString()
}
function rateResponse(rate: unknown) {
  return { asOf: asOf(), rates: { 'USD/JPY': '150', 'USD/EUR': rate } }
}
let faults: unknown[] = []
beforeEach(() => {
  faults = []
})

function open(settings = {}): Promise<Rates> {
  return openRateProvider({ url, refreshMs: 60_000, staleAfterMs: 10_000, timeoutMs: 20_000, ...settings }, clock, {
    warn: ({ reason }: { reason: string }) => void faults.push(reason),
    info: () => undefined,
  })
}
async function fetchOnce(handler: typeof respond, settings = {}): Promise<string[]> {
  respond = handler
  const rates = await open(settings)
  rates.close()
  return rates.list().map(({ source, target, rate }) => `${source}/${target} ${rate}`)
}

test('pairs of unknown currencies are ignored', async () => {
  const rates = { 'USD/EUR': '0.8', 'XXX/YYY': '1', 'USD/USD': '1', USD: '1' }
  expect(await fetchOnce(json({ asOf: asOf(), rates }))).toEqual(['USD/EUR 0.8'])
  expect(faults).toEqual([])
})

test('a pair listed in both directions counts once, in the first direction', async () => {
  const rates = { 'USD/EUR': '0.8', 'EUR/USD': '1.3', 'JPY/USD': '0.007', 'USD/JPY': '150' }
  expect(await fetchOnce(json({ asOf: asOf(), rates }))).toEqual(['USD/EUR 0.8', 'JPY/USD 0.007'])
})

test.each([
  '-1',
  '0',
  '0.000',
  'NaN',
  'Infinity',
  '1e5',
  '0x10',
  '１',
  '',
  ' 1',
  '01',
  '1000000000000',
  '0.0000000000001',
])('a rate of %j makes the whole response invalid', async (rate) => {
  expect(await fetchOnce(json(rateResponse(rate)))).toEqual([])
  expect(faults).toHaveLength(1)
})

test.each<[string, (response: ServerResponse) => void]>([
  ['a number in place of a text', (response) => json(rateResponse(0.8))(response)],
  ['null', json(null)],
  ['no rates', (response) => json({ asOf: asOf() })(response)],
  ['no time', json({ rates: {} })],
  ['a time without a zone', json({ asOf: '2026-03-01T09:00:00', rates: {} })],
  ['HTML', (response) => response.end('<h1>rates</h1>')],
  ['truncated JSON', (response) => response.end('{"asOf": ')],
  ['a server error', (response) => json(rateResponse('0.8'))(response.writeHead(500))],
  ['a redirect', (response) => response.writeHead(302, { location: url }).end()],
  ['a reset', (response) => response.destroy()],
  ['silence', () => undefined],
])('%s is an invalid response', async (name, handler) => {
  expect(await fetchOnce(handler, name === 'silence' ? { timeoutMs: 300 } : {})).toEqual([])
  expect(faults).toHaveLength(1)
})

test('a response that is not JSON is not quoted: it may echo a key', async () => {
  await fetchOnce((response) => response.end('planted-key'))
  expect(faults).toHaveLength(1)
  expect(inspect(faults)).not.toContain('planted')
})

test.each([
  ['an endless response', {}],
  ['a bomb', { 'content-encoding': 'gzip' }],
])('%s is invalid and not read to its end', async (_name, headers: Record<string, string>) => {
  const blanks = Buffer.alloc(1024 * 1024, ' ')
  const chunk = headers['content-encoding'] ? gzipSync(blanks) : blanks
  let sent = 0
  const handler = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, headers)
    response.on('error', () => undefined)
    while (!response.destroyed && sent < 4_000) {
      sent += 1
      if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')])
      await pause(1)
    }
    response.end()
  }
  respond = (response) => void handler(response)
  const rates = await open()
  rates.close()
  expect([rates.list(), faults.length]).toEqual([[], 1])
  expect(sent).toBeLessThan(1_000)
})

test('fixedRates: as of the start, and never stale', () => {
  const began = clock.now()
  const rates = fixedRates([{ source: 'USD', target: 'EUR', rate: '0.8' }], clock)
  clock.advance(3_600_000)
  expect(rates.list()).toEqual([{ source: 'USD', target: 'EUR', rate: '0.8', asOf: began }])
})

test('a provider that is down at the start is polled again', async () => {
  respond = (response) => response.destroy()
  const rates = await open({ refreshMs: 50 })
  expect(rates.list()).toEqual([])
  respond = (response) => json(rateResponse('0.8'))(response)
  await expect.poll(() => rates.list().length).toBe(2)
  rates.close()
})

test('a slow provider gets one request at a time', async () => {
  respond = (response) => json(rateResponse('0.8'))(response)
  const rates = await open({ refreshMs: 20 })
  const requests: ServerResponse[] = []
  respond = (response) => requests.push(response)
  await expect.poll(() => requests.length).toBe(1)
  await pause(100)
  expect(requests).toHaveLength(1)
  for (const response of requests) json(rateResponse('0.9'))(response)
  await expect.poll(() => rates.list().find(({ target }) => target === 'EUR')?.rate).toBe('0.9')
  await expect.poll(() => requests.length).toBe(2)
  rates.close()
  for (const response of requests) response.destroy()
})

test('an unavailable provider: the last rates apply until exactly staleAfterMs', async () => {
  respond = (response) => json(rateResponse('0.8'))(response)
  const rates = await open({ refreshMs: 50 })
  respond = (response) => response.destroy()
  await expect.poll(() => faults.length).toBeGreaterThan(0)
  clock.advance(10_000)
  expect(rates.list()).toHaveLength(2)
  clock.advance(1)
  expect(rates.list()).toEqual([])
  // Setting the clock back does not make the rates current again.
  clock.advance(-3_600_000)
  expect(rates.list()).toEqual([])
  rates.close()
})

test('an asOf in the future counts as now', async () => {
  respond = json({ asOf: '2099-01-01T00:00:00Z', rates: { 'USD/EUR': '0.8' } })
  const rates = await open()
  expect(rates.list()).toHaveLength(1)
  clock.advance(10_001)
  expect(rates.list()).toEqual([])
  rates.close()
})

test('the highest rate is of the pair, its inverse, or over one other currency', () => {
  const table = [
    { source: 'USD', target: 'EUR', rate: '0.9215' },
    { source: 'USD', target: 'JPY', rate: '148.35' },
    { source: 'EUR', target: 'JPY', rate: '160.98' },
    { source: 'BTC', target: 'USD', rate: '64250.5' },
  ]
  const highest = (source: string, target: string, rates = table) => {
    const found = highestRate(rates, { source, target })
    return found && Number(found.numerator) / Number(found.denominator)
  }
  expect(highest('BTC', 'USD')).toBe(64_250.5)
  expect(highest('EUR', 'USD')).toBeCloseTo(1 / 0.9215, 9)
  expect(highest('BTC', 'EUR')).toBeCloseTo(64_250.5 * 0.9215, 9)
  const cheap = table.map((rate) => (rate.target === 'EUR' ? { ...rate, rate: '2' } : rate))
  expect(highest('EUR', 'USD', cheap)).toBeCloseTo(160.98 / 148.35, 9)
  expect(highest('BHD', 'USD')).toBeUndefined()
})
