import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createBreachCheck } from '../../src/platform/breached-passwords.ts'
import { createTurnstile } from '../../src/platform/captcha.ts'

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown

let service: Server
let url = ''
let answer: Answer
let asked: { path: string; padding: unknown; body: string }[] = []

beforeAll(async () => {
  service = createServer(async (request, response) => {
    asked.push({ path: request.url ?? '', padding: request.headers['add-padding'], body: await text(request) })
    await answer(response, request)
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const address = service.address()
  url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/asked/`
})
afterAll(() => {
  service.closeAllConnections()
  service.close()
})
beforeEach(() => {
  asked = []
})

/** Sends on to itself once, and there says what would have been the answer. */
const elsewhere =
  (said: string): Answer =>
  (response, { url: path }) =>
    path === '/elsewhere' ? response.end(said) : response.writeHead(307, { location: '/elsewhere' }).end()

/** Says it after more blanks than anybody reads; JSON and a list of lines alike may hold them. */
const atLength =
  (said: string, size: number): Answer =>
  (response) => {
    response.on('error', () => undefined)
    response.end(`${' \n'.repeat(size / 2)}${said}`)
  }

/** Says it, but later than anybody waits. */
const late =
  (said: string): Answer =>
  async (response) => {
    await pause(600)
    response.end(said)
  }
const patience = (what: string): number => (what === 'a late answer' ? 300 : 20_000)

describe('the breach check', () => {
  const password = 'Quartz-Lemon-Harbour-9'
  const digest = createHash('sha1').update(password).digest('hex').toUpperCase()
  const [shown, rest] = [digest.slice(0, 5), digest.slice(5)]
  const padding = `0018A45C4D1DEF81644B54AB7F969B88D65:0`
  const warned: string[] = []
  const check = async (given: Answer, asking = password, timeoutMs = 20_000): Promise<[boolean, number]> => {
    answer = given
    warned.length = 0
    const log = pino({}, { write: (line) => void warned.push(line) })
    return [await createBreachCheck({ url, timeoutMs }, log).isBreached(asking), warned.length]
  }
  const says =
    (said: string, status = 200): Answer =>
    (response) =>
      response.writeHead(status).end(said)

  test('five digits of the SHA-1 are all that leaves, and padding is asked for', async () => {
    expect(await check(says(`${padding}\r\n${rest}:42\r\n`))).toEqual([true, 0])
    expect(asked).toEqual([{ path: `/asked/${shown}`, padding: 'true', body: '' }])
  })

  test.each([
    ['at the end of a text without one', `${padding}\r\n${rest}:1`, true],
    ['between plain line breaks', `${padding}\n${rest}:7\n${padding}\n`, true],
    ['in small letters', `${rest.toLowerCase()}:7\r\n`, true],
    ['with a count of nothing, as padding', `${padding}\r\n${rest}:0\r\n`, false],
    ['without a count', `${rest}\r\n`, false],
    ['as the beginning of another', `${rest}F:7\r\n`, false],
    ['not at all', `${padding}\r\n`, false],
  ])('a password that is listed %s', async (_name, said, isBreached) => {
    expect(await check(says(said))).toEqual([isBreached, 0])
  })

  test('a password counts in NFKC', async () => {
    expect(await check(says(`${rest}:42`), password.replace('Q', 'Ｑ'))).toEqual([true, 0])
  })

  test.each<[string, Answer]>([
    ['a fault', says(`${rest}:42`, 500)],
    ['a redirect', elsewhere(`${rest}:42`)],
    ['a late answer', late(`${rest}:42`)],
    ['an answer longer than any range', atLength(`${rest}:42`, 1_000_000)],
    ['a reset', (response) => response.destroy()],
  ])('%s is no answer: the password passes, with a line in the log', async (name, given) => {
    expect(await check(given, password, patience(name))).toEqual([false, 1])
  })
})

describe('Turnstile', () => {
  const good = JSON.stringify({ success: true, 'error-codes': [] })
  const passes = (given: Answer, token = 'token', timeoutMs = 20_000): Promise<unknown> => {
    answer = given
    const settings = { secret: 'the-secret', verifyUrl: url, timeoutMs }
    return createTurnstile(settings)
      .passes(token, '192.0.2.1')
      .catch(({ code, detail }) => [code, detail.retryAfter])
  }
  const says =
    (verdict: unknown): Answer =>
    (response) =>
      response.end(JSON.stringify(verdict))

  test('is asked with our secret, the token and the address', async () => {
    expect(await passes(says({ success: true }))).toBe(true)
    expect(asked.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
      { secret: 'the-secret', response: 'token', remoteip: '192.0.2.1' },
    ])
  })

  test('a verdict of as many bytes as are read, blanks and all, is one', async () => {
    expect(await passes((response) => response.end(good.padEnd(65_536)))).toBe(true)
    expect(await passes((response) => response.end(good.padEnd(65_537)))).toEqual(['SYSTEM.UNAVAILABLE', 5])
  })

  test('an answer that says back what was asked is not quoted: the log is not to hold our secret', async () => {
    answer = (response) => response.end('secret=planted')
    const turnstile = createTurnstile({ secret: 'planted', verifyUrl: url, timeoutMs: 10_000 })
    const refused = await turnstile.passes('token', '192.0.2.1').catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'SYSTEM.UNAVAILABLE' })
    expect(inspect(refused, { depth: 9 })).not.toContain('planted')
  })

  test('an empty token fails, and nobody is asked', async () => {
    expect(await passes(says({ success: true }), '')).toBe(false)
    expect(asked).toEqual([])
  })

  test.each(['invalid-input-response', 'timeout-or-duplicate', 'one that is new'])(
    '%s: the token fails',
    async (code) => {
      expect(await passes(says({ success: false, 'error-codes': [code] }))).toBe(false)
    },
  )

  test('a verdict that gives no reason says no', async () => {
    expect(await passes(says({ success: false }))).toBe(false)
  })

  test('a token that passes does so whatever else is told', async () => {
    expect(await passes(says({ success: true, 'error-codes': ['internal-error'] }))).toBe(true)
  })

  test.each(['internal-error', 'bad-request', 'missing-input-secret', 'invalid-input-secret'])(
    '%s is no fault of the token: SYSTEM.UNAVAILABLE',
    async (code) => {
      const verdict = { success: false, 'error-codes': ['invalid-input-response', code] }
      expect(await passes(says(verdict))).toEqual(['SYSTEM.UNAVAILABLE', 5])
    },
  )

  test.each<[string, Answer]>([
    ['a verdict that is none', says({ success: 'true' })],
    ['null', says(null)],
    ['HTML', (response) => response.end('<h1>success</h1>')],
    ['a redirect', elsewhere(good)],
    ['a late answer', late(good)],
    ['an answer longer than any verdict', atLength(good, 65_536)],
    ['a reset', (response) => response.destroy()],
  ])('%s is no answer, and nobody passes: SYSTEM.UNAVAILABLE', async (name, given) => {
    expect(await passes(given, 'token', patience(name))).toEqual(['SYSTEM.UNAVAILABLE', 5])
  })
})
