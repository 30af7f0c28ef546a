import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Providers } from '../../../src/identity/providers/ports.ts'
import { minutes } from '../../../src/kernel/index.ts'
import { expired, selfSigned } from '../../harness/certificate.ts'
import { startProvider, type TestProvider } from '../../harness/provider.ts'
import { codeOf, credential } from '../harness.ts'
import { type ProviderWorld, personOf, providerWorld, redirectUri, settingsFor } from './world.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-provider-'))
let failures: [dependency: string, reason: string][] = []
let tls: TestProvider
let world: ProviderWorld
beforeAll(async () => {
  tls = await startProvider({ redirectUris: [redirectUri], tls: selfSigned(folder, 'IP:127.0.0.1') })
  const changePorts: Parameters<typeof providerWorld>[1] = (ports) => {
    ports.dependencies = {
      failed: (dependency, error) => {
        const { cause } = error instanceof Error ? error : {}
        failures.push([dependency, [error, cause, cause instanceof Error ? cause.cause : ''].join()])
      },
      works: () => undefined,
    }
  }
  world = await providerWorld({}, changePorts, ({ portals }) => {
    portals.SYSTEM.providers = [...portals.SYSTEM.providers, settingsFor(tls, { id: 'tls' })]
  })
})
afterAll(async () => {
  await world.close()
  await tls.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  failures = []
  Object.assign(world.provider, { answer: 'real', rewrite: null, tamper: null })
})

test('auth.providerInitiate 503: a provider that is down, redirects, or names another issuer; it recovers', async () => {
  for (const answer of ['down', 'redirect'] as const) {
    world.provider.answer = answer
    expect(await codeOf(world.begin())).toBe('AUTH.PROVIDER_UNAVAILABLE')
  }
  world.provider.answer = 'real'
  world.provider.rewrite = (path, body) =>
    path.includes('well-known') ? { ...body, issuer: 'https://x.example' } : body
  expect(await codeOf(world.begin())).toBe('AUTH.PROVIDER_UNAVAILABLE')
  expect(new Set(failures.map(([dependency]) => dependency))).toEqual(new Set(['identity provider company']))
  expect(failures).toHaveLength(3)
  world.provider.rewrite = null
  expect((await world.signIn()).completed).not.toBeNull()
})

test('auth.providerInitiate 503: a certificate that is not valid', async () => {
  expect(await codeOf(world.begin({ providerId: 'tls' }))).toBe('AUTH.PROVIDER_UNAVAILABLE')
  expect(failures).toEqual([['identity provider tls', expect.stringContaining('certificate')]])
})

test('auth.providerInitiate: a certificate that was valid, and has expired, is refused; a valid one is accepted', async () => {
  const trusted = getCACertificates('default')
  const pairs = [expired(folder, 'IP:127.0.0.1'), selfSigned(folder, 'IP:127.0.0.1')]
  setDefaultCACertificates([...trusted, ...pairs.map(({ cert }) => String(cert))])
  const outcomes: string[] = []
  try {
    for (const pair of pairs) {
      const provider = await startProvider({ redirectUris: [redirectUri], tls: pair })
      const [directory] = new Providers(world.at.ports, [settingsFor(provider)]).of('SYSTEM')
      await directory?.metadata().then(
        ({ issuer }) => outcomes.push(issuer),
        () => outcomes.push(failures.flat().join()),
      )
      await provider.close()
    }
  } finally {
    setDefaultCACertificates(trusted)
  }
  expect(outcomes).toEqual([expect.stringContaining('certificate has expired'), expect.stringContaining('https:')])
})

test('metadata: keys of an https issuer must come by https', async () => {
  const trusted = getCACertificates('default')
  const pair = selfSigned(folder, 'IP:127.0.0.1')
  setDefaultCACertificates([...trusted, String(pair.cert)])
  try {
    const provider = await startProvider({ redirectUris: [redirectUri], tls: pair })
    const keys = `${world.provider.issuer}/jwks`
    provider.rewrite = (path, body) => (path.includes('well-known') ? { ...body, jwks_uri: keys } : body)
    const [directory] = new Providers(world.at.ports, [settingsFor(provider)]).of('SYSTEM')
    await expect(directory?.metadata()).rejects.toThrow('no metadata')
    expect(failures).toEqual([[expect.any(String), expect.stringContaining('jwks_uri')]])
    await provider.close()
  } finally {
    setDefaultCACertificates(trusted)
  }
})

test.each([
  ['authorization_endpoint', 'javascript:alert(1)'],
  ['end_session_endpoint', 'data:text/html,x'],
  ['token_endpoint', 'file:///etc/passwd'],
  ['jwks_uri', 'not a URL'],
])('metadata: %s must be an https URL', async (name, url) => {
  const provider = await startProvider({ redirectUris: [redirectUri] })
  provider.rewrite = (path, body) => (path.includes('well-known') ? { ...body, [name]: url } : body)
  const [directory] = new Providers(world.at.ports, [settingsFor(provider)]).of('SYSTEM')
  await expect(directory?.metadata()).rejects.toThrow('no metadata')
  expect(failures).toEqual([[expect.any(String), expect.stringContaining(name)]])
  await provider.close()
})

test('auth.providerComplete 200: keys that the provider has rotated', async () => {
  await world.signIn()
  const started = await world.begin()
  await world.provider.rotateKeys()
  // The provider forgets its codes, so the visit starts again.
  expect(await codeOf(world.complete(started))).toBe('AUTH.PROVIDER_REFUSED')
  expect((await world.signIn()).completed).not.toBeNull()
  expect(failures).toEqual([])
})

test('metadata: known ones serve a sign-in while one request refreshes them', async () => {
  await world.signIn()
  world.at.clock.advance(minutes(11))
  const before = world.provider.requests.length
  world.provider.answer = 'down'
  const started = await Promise.all([world.begin, world.begin].map((begin) => begin({ visits: false })))
  expect(started).toHaveLength(2)
  await expect.poll(() => failures.length).toBe(1)
  const discoveries = world.provider.requests.slice(before).filter((path) => path.includes('well-known'))
  expect(discoveries).toHaveLength(1)
  world.at.clock.advance(-minutes(11))
})

test('auth.providerComplete 503: a provider that fails later; signed-in people notice nothing', async () => {
  const { completed } = await world.signIn()
  const started = await world.begin()
  for (const answer of ['down', 'redirect'] as const) {
    const pending = await world.begin()
    world.provider.answer = answer
    expect(await codeOf(world.complete(pending))).toBe('AUTH.PROVIDER_UNAVAILABLE')
    world.provider.answer = 'real'
  }
  world.provider.answer = 'slow'
  expect(await codeOf(world.complete(started))).toBe('AUTH.PROVIDER_UNAVAILABLE')
  expect(failures.map(([, reason]) => reason)).toContainEqual(expect.stringContaining('no response within'))
  const token = credential(completed?.accessToken ?? '', { portal: 'SYSTEM' })
  expect((await world.at.identity.authentication.accessToken(token)).portal).toBe('SYSTEM')
})

test('auth.providerComplete 503: a client that the provider refuses is a fault of the configuration', async () => {
  const started = await world.begin()
  world.provider.rewrite = (path, body) => (path === '/token' ? { error: 'invalid_client' } : body)
  world.provider.status = 401
  expect(await codeOf(world.complete(started))).toBe('AUTH.PROVIDER_UNAVAILABLE')
  world.provider.status = null
  world.provider.person = personOf('again@company.test')
})
