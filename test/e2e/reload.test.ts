import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../src/banking/index.ts'
import { startServer } from '../../src/main.ts'
import { startConfigured } from '../harness/configured.ts'
import { send } from '../harness/http.ts'
import { captureLog } from '../harness/log.ts'
import { json, type RawUpstream, startRawUpstream } from '../harness/raw-upstream.ts'
import { testSettings, upstreamAt } from '../harness/settings.ts'
import { createStore, type TestStore } from '../harness/store.ts'

const path = '/web/v1/consumer/constants/timezones'
function timezone(label: string) {
  return { code: 'UTC', label, zoneIdCode: 'Etc/UTC', utcOffset: 'UTC+0', value: 1 }
}

describe('reload of backends and limits', () => {
  let store: TestStore
  let first: RawUpstream
  let second: RawUpstream
  let portico: Awaited<ReturnType<typeof startConfigured>>

  const slowly = (label: string) =>
    startRawUpstream((socket) => setTimeout(() => socket.write(json([timezone(label)])), 30))
  const withBackends = (upstream: RawUpstream) => ({
    backends: { constants: { url: upstream.url } },
    // No window ends during the test.
    limits: { address: { limit: 1_200, windowMs: 3_600_000 } },
  })

  beforeAll(async () => {
    store = await createStore()
    first = await slowly('first')
    second = await slowly('second')
    portico = await startConfigured(
      { ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' },
      { ...withBackends(first), shutdown: { delayMs: 3_000, timeoutMs: 20_000 } },
      'gateway',
    )
  })
  afterAll(async () => {
    await portico?.stop()
    await first?.close()
    await second?.close()
    await store?.remove()
  })

  const label = async (): Promise<string> => {
    const { status, body } = await send(portico.url, 'GET', path)
    return status === 200 ? body.data[0].label : `${status}`
  }

  test('a changed file moves a domain without dropping a request', async () => {
    expect(await label()).toBe('first')
    const seen: string[] = []
    let done = false
    const load = Array.from({ length: 8 }, async () => {
      while (!done) seen.push(await label())
    })
    await writeFile(portico.file, dump(withBackends(second)))
    await expect.poll(label).toBe('second')
    await expect.poll(() => seen.at(-1)).toBe('second')
    done = true
    await Promise.all(load)
    expect(new Set(seen)).toEqual(new Set(['first', 'second']))
  })

  test('an invalid file is rejected with every error listed, and the previous one stays in force', async () => {
    await writeFile(portico.file, dump({ backends: { constants: { url: 'ftp://x' }, wallets: 'nonsense' } }))
    await expect.poll(() => portico.output()).toContain('the previous one stays')
    const line =
      portico
        .output()
        .split('\n')
        .find((each) => each.includes('the previous one stays')) ?? ''
    expect(line).toContain('backends.constants')
    expect(line).toContain('backends.wallets')
    expect(await label()).toBe('second')
  })

  test('a file with an unknown domain is rejected by its name, and the previous one stays in force', async () => {
    await writeFile(portico.file, dump({ backends: { ...withBackends(first).backends, nonsense: 'in-process' } }))
    await expect.poll(() => portico.output()).toContain('backends.nonsense: no domain has this name')
    expect(await label()).toBe('second')
  })

  test('a file with a missing certificate is rejected with the reason', async () => {
    const tls = { caFile: '/nowhere/ca.pem' }
    await writeFile(portico.file, dump({ backends: { constants: { url: 'https://127.0.0.1', tls } } }))
    const reason = /tls\.caFile of https:\/\/127\.0\.0\.1 cannot be read.*ENOENT.*the previous one stays/
    await expect.poll(() => portico.output()).toMatch(reason)
    expect(await label()).toBe('second')
  })

  test('a file that splits the domains of the ledger is accepted with a warning', async () => {
    const { backends, limits } = withBackends(second)
    const split = { ...backends, wallets: { url: first.url, audience: 'wallets' } }
    await writeFile(portico.file, dump({ backends: split, limits }))
    const warning = 'domains that share the ledger are served in different places'
    await expect.poll(() => portico.output()).toContain(warning)
    const line =
      portico
        .output()
        .split('\n')
        .find((each) => each.includes(warning)) ?? ''
    expect(JSON.parse(line)).toMatchObject({ level: 'warn', places: { [first.url]: ['wallets'] } })
    expect(line).toContain('"transfers"')
    await expect.poll(label).toBe('second')
  })

  test('SIGHUP reloads, too', async () => {
    await writeFile(portico.file, dump(withBackends(first)))
    portico.child.kill('SIGHUP')
    await expect.poll(label).toBe('first')
  })

  /** The variable multiplies each limit by 1,000. */
  const readLimit = async () => {
    const { headers } = await send(portico.url, 'GET', path)
    const [, limit] = /^"address";q=(\d+);/.exec(headers.get('ratelimit-policy') ?? '') ?? []
    const [, remaining] = /^"address";r=(\d+);/.exec(headers.get('ratelimit') ?? '') ?? []
    return { limit: Number(limit), used: Number(limit) - Number(remaining) }
  }
  const limitTo = (limit: number, changed: object = {}) =>
    writeFile(
      portico.file,
      dump({ ...withBackends(first), ...changed, limits: { address: { limit, windowMs: 1_800_000 } } }),
    )

  test('a changed file raises and lowers limits without losing a count', async () => {
    let { used: before } = await readLimit()
    for (const limit of [9_000, 7]) {
      await limitTo(limit)
      await expect.poll(async () => (await readLimit()).limit).toBe(1_000 * limit)
      const { used } = await readLimit()
      expect(used).toBeGreaterThan(before)
      before = used
    }
    await limitTo(7, { portals: { CONSUMER: { limits: { address: { limit: 3, windowMs: 1_800_000 } } } } })
    await expect.poll(async () => (await readLimit()).limit).toBe(3_000)
  })

  test('an invalid file changes no limit', async () => {
    await limitTo(5, { limits: { address: { limit: 5, windowMs: 1_800_000 } }, backends: { nonsense: 'in-process' } })
    await expect.poll(() => portico.output().split('backends.nonsense').length).toBe(3)
    expect(await readLimit()).toMatchObject({ limit: 3_000 })
  })

  test('a reload names the changed settings that need a restart, without their values', async () => {
    await limitTo(4, { turnstile: { secret: 'a planted secret', siteKey: 'key' }, publicUrl: 'http://127.0.0.1:1' })
    portico.child.kill('SIGHUP')
    // Only the first file set `shutdown`.
    const names = ['publicUrl', 'turnstile.secret', 'turnstile.siteKey', 'shutdown.delayMs', 'shutdown.timeoutMs']
    await expect.poll(() => portico.output()).toContain(`changed settings need a restart: ${names.join(', ')}"`)
    expect(portico.output()).toContain(`"settings":${JSON.stringify(names)}`)
    expect(portico.output()).not.toContain('a planted secret')
    await expect.poll(async () => (await readLimit()).limit).toBe(4_000)
  })

  test('SIGHUP is ignored during shutdown, and requests in progress complete', async () => {
    const stopped = portico.stop()
    await expect.poll(() => portico.output()).toContain('draining')
    portico.child.kill('SIGHUP')
    expect((await send(portico.url, 'GET', path)).status).toBe(200)
    expect([await stopped, portico.child.signalCode]).toEqual([0, null])
  })
})

/** The gateways' file can place all domains at this service. */
test('a domain service serves its domains itself, also after a reload, for any `backends`', async () => {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA')
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'EdDSA' }] })
  const gateway = createServer((_, response) => void response.end(keys))
  await once(gateway.listen(0, '127.0.0.1'), 'listening')
  const address = gateway.address()
  const store = await createStore()
  const settings = testSettings(store.variables, ({ assertion, shutdown }) => {
    assertion.jwksUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`
    Object.assign(shutdown, { delayMs: 0, timeoutMs: 0 })
  })
  const token = await new SignJWT({ portal: 'CONSUMER' })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'portico-call+jwt', kid: 'one' })
    .setIssuer(settings.tokens.issuer)
    .setAudience(settings.assertion.audience)
    .setIssuedAt()
    .setExpirationTime('10m')
    .sign(privateKey)
  const service = await startServer(bankingDomains, settings, 'domains', captureLog().logger)
  const status = async () => (await send(`http://127.0.0.1:${service.port}`, 'GET', path, { token })).status
  expect(await status()).toBe(200)
  await service.reload({ ...settings, backends: { default: upstreamAt('http://127.0.0.1:9') } })
  expect(await status()).toBe(200)
  await service.stop()
  await store.remove()
  gateway.close()
})
