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
import { createDependencyLog } from '../../src/platform/dependency-log.ts'
import { systemDurations } from '../../src/platform/runtime/index.ts'

type Respond = (response: ServerResponse, request: IncomingMessage) => unknown

let service: Server
let url = ''
let respond: Respond
let requests: { path: string; padding: unknown; body: string }[] = []

beforeAll(async () => {
  service = createServer(async (request, response) => {
    requests.push({ path: request.url ?? '', padding: request.headers['add-padding'], body: await text(request) })
    await respond(response, request)
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const address = service.address()
  url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/requests/`
})
afterAll(() => {
  service.closeAllConnections()
  service.close()
})
beforeEach(() => {
  requests = []
})

/** The same service then sends the body. */
function redirected(body: string): Respond {
  return (response, { url: path }) =>
    path === '/elsewhere' ? response.end(body) : response.writeHead(307, { location: '/elsewhere' }).end()
}

/** The body is valid, but longer than the client reads. */
function atLength(body: string, size: number): Respond {
  return (response) => {
    response.on('error', () => undefined)
    response.end(`${' \n'.repeat(size / 2)}${body}`)
  }
}

function afterTimeout(body: string): Respond {
  return async (response) => {
    await pause(600)
    response.end(body)
  }
}
function timeoutFor(name: string): number {
  return name === 'a late response' ? 300 : 20_000
}

describe('the breach check', () => {
  const password = 'Quartz-Lemon-Harbour-9'
  const digest = createHash('sha1').update(password).digest('hex').toUpperCase()
  const [shown, rest] = [digest.slice(0, 5), digest.slice(5)]
  const padding = `0018A45C4D1DEF81644B54AB7F969B88D65:0`
  const warned: string[] = []
  const check = async (handler: Respond, candidate = password, timeoutMs = 20_000): Promise<[boolean, number]> => {
    respond = handler
    warned.length = 0
    const log = pino({}, { write: (line) => void warned.push(line) })
    return [
      await createBreachCheck({ url, timeoutMs }, createDependencyLog(log, systemDurations)).isBreached(candidate),
      warned.length,
    ]
  }
  const respondWith =
    (body: string, status = 200): Respond =>
    (response) =>
      response.writeHead(status).end(body)

  test('sends five digits of the SHA-1 and requests padding', async () => {
    expect(await check(respondWith(`${padding}\r\n${rest}:42\r\n`))).toEqual([true, 0])
    expect(requests).toEqual([{ path: `/requests/${shown}`, padding: 'true', body: '' }])
  })

  test.each([
    ['at the end of a text without one', `${padding}\r\n${rest}:1`, true],
    ['between plain line breaks', `${padding}\n${rest}:7\n${padding}\n`, true],
    ['in small letters', `${rest.toLowerCase()}:7\r\n`, true],
    ['with a count of nothing, as padding', `${padding}\r\n${rest}:0\r\n`, false],
    ['without a count', `${rest}\r\n`, false],
    ['as the beginning of another', `${rest}F:7\r\n`, false],
    ['not at all', `${padding}\r\n`, false],
  ])('a password listed %s', async (_name, body, isBreached) => {
    expect(await check(respondWith(body))).toEqual([isBreached, 0])
  })

  test('the password is normalized to NFKC', async () => {
    expect(await check(respondWith(`${rest}:42`), password.replace('Q', 'Ｑ'))).toEqual([true, 0])
  })

  test.each<[string, Respond]>([
    ['a fault', respondWith(`${rest}:42`, 500)],
    ['a redirect', redirected(`${rest}:42`)],
    ['a late response', afterTimeout(`${rest}:42`)],
    ['a response above the maximum size', atLength(`${rest}:42`, 1_000_000)],
    ['a reset', (response) => response.destroy()],
  ])('%s: the password is accepted and a warning logged', async (name, handler) => {
    expect(await check(handler, password, timeoutFor(name))).toEqual([false, 1])
  })
})

describe('Turnstile', () => {
  const good = JSON.stringify({ success: true, 'error-codes': [] })
  const passes = (handler: Respond, token = 'token', timeoutMs = 20_000): Promise<unknown> => {
    respond = handler
    const settings = { secret: 'the-secret', verifyUrl: url, timeoutMs }
    return createTurnstile(settings)
      .passes(token, '192.0.2.1')
      .catch(({ code, detail }) => [code, detail.retryAfter])
  }
  const respondWith =
    (verdict: unknown): Respond =>
    (response) =>
      response.end(JSON.stringify(verdict))

  test('sends the secret, the token and the address', async () => {
    expect(await passes(respondWith({ success: true }))).toBe(true)
    expect(requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
      { secret: 'the-secret', response: 'token', remoteip: '192.0.2.1' },
    ])
  })

  test('accepts a response of exactly the maximum size', async () => {
    expect(await passes((response) => response.end(good.padEnd(65_536)))).toBe(true)
    expect(await passes((response) => response.end(good.padEnd(65_537)))).toEqual(['SYSTEM.UNAVAILABLE', 5])
  })

  test('an echoed secret is not quoted in the error', async () => {
    respond = (response) => response.end('secret=planted')
    const turnstile = createTurnstile({ secret: 'planted', verifyUrl: url, timeoutMs: 10_000 })
    const refused = await turnstile.passes('token', '192.0.2.1').catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'SYSTEM.UNAVAILABLE' })
    expect(inspect(refused, { depth: 9 })).not.toContain('planted')
  })

  test('an empty token fails without a request', async () => {
    expect(await passes(respondWith({ success: true }), '')).toBe(false)
    expect(requests).toEqual([])
  })

  test.each(['invalid-input-response', 'timeout-or-duplicate', 'unknown-code'])('%s: the token fails', async (code) => {
    expect(await passes(respondWith({ success: false, 'error-codes': [code] }))).toBe(false)
  })

  test('a failure without a code: the token fails', async () => {
    expect(await passes(respondWith({ success: false }))).toBe(false)
  })

  test('success with error codes: the token passes', async () => {
    expect(await passes(respondWith({ success: true, 'error-codes': ['internal-error'] }))).toBe(true)
  })

  test.each(['internal-error', 'bad-request', 'missing-input-secret', 'invalid-input-secret'])(
    '%s SYSTEM.UNAVAILABLE: not a failure of the token',
    async (code) => {
      const verdict = { success: false, 'error-codes': ['invalid-input-response', code] }
      expect(await passes(respondWith(verdict))).toEqual(['SYSTEM.UNAVAILABLE', 5])
    },
  )

  test.each<[string, Respond]>([
    ['an invalid verdict', respondWith({ success: 'true' })],
    ['null', respondWith(null)],
    ['HTML', (response) => response.end('<h1>success</h1>')],
    ['a redirect', redirected(good)],
    ['a late response', afterTimeout(good)],
    ['a response above the maximum size', atLength(good, 65_536)],
    ['a reset', (response) => response.destroy()],
  ])('%s SYSTEM.UNAVAILABLE: the token does not pass', async (name, handler) => {
    expect(await passes(handler, 'token', timeoutFor(name))).toEqual(['SYSTEM.UNAVAILABLE', 5])
  })
})
