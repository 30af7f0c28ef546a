import { hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { ConfigurationError, loadConfiguration, Secret } from '../../src/config/index.ts'
import { developmentAccessCodeHashes, developmentKey } from '../../src/config/production.ts'
import { productionKey } from '../harness/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-refusals-'))
afterAll(() => rmSync(folder, { recursive: true }))

const load = (settings: object | string, variables: Variables = {}) => {
  const file = join(folder, 'portico.yaml')
  writeFileSync(file, typeof settings === 'string' ? settings : JSON.stringify(settings))
  return loadConfiguration({ PORTICO_CONFIG: file, ...variables })
}

const errorsOf = (settings: object | string, variables: Variables = {}): string[] => {
  try {
    load(settings, variables)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.errors
    throw error
  }
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

describe('production', () => {
  const codes = (hash: string) => ({ accessCodes: [hash] })
  const settings = {
    profile: 'production',
    publicUrl: 'https://portal.example',
    mail: { from: 'Portal <no-reply@portal.example>' },
    portals: { CONSUMER: codes('a'.repeat(64)), SYSTEM: codes('b'.repeat(64)) },
  }
  const PORTICO_SECRET_KEY = productionKey
  const DATABASE_URL = 'postgres://db.example/portico'
  const SMTP_URL = 'smtps://mail.example'
  const variables = { PORTICO_SECRET_KEY, DATABASE_URL, SMTP_URL }

  test('accepts its own URL, sender, access codes, key and mail server, without development settings', () => {
    const production = load(settings, variables)
    expect(production.portals.SYSTEM.accessCodes).toEqual(['b'.repeat(64)])
    expect(production.profile).toBe('production')
    const development = load({})
    expect(production.portals.CONSUMER.edge).not.toEqual(development.portals.CONSUMER.edge)
  })

  test('accepts the scheme of publicUrl in upper case', () => {
    expect(errorsOf({ ...settings, publicUrl: 'HTTPS://portal.example' }, variables)).toEqual([])
  })

  const [developmentCode = ''] = developmentAccessCodeHashes
  const consumer = { ...settings.portals, CONSUMER: { accessCodes: ['a'.repeat(64), developmentCode] } }
  const leading = (links: object) => ({ portals: { ...settings.portals, SYSTEM: { ...codes('b'.repeat(64)), links } } })

  test('accepts the embedded store if database.acceptEmbedded is true', () => {
    const accepting = { ...settings, database: { acceptEmbedded: true } }
    expect(errorsOf(accepting, { PORTICO_SECRET_KEY, SMTP_URL })).toEqual([])
  })

  test('accepts limits that are scaled down', () => {
    expect(errorsOf(settings, { ...variables, PORTICO_RATE_LIMIT_SCALE: '0.5' })).toEqual([])
  })

  test('accepts links that are absolute URLs', () => {
    const links = { signIn: 'https://operators.example/', passwordReset: '/reset' }
    expect(errorsOf({ ...settings, ...leading(links) }, variables)).toEqual([])
  })

  test.each(['requireTLS=true', 'requireTLS=false', 'name=portal.example&requireTLS=true'])(
    'accepts smtp:// with an explicit requireTLS: %s',
    (query) => {
      expect(errorsOf(settings, { ...variables, SMTP_URL: `smtp://mail.example:587?${query}` })).toEqual([])
    },
  )

  // The library would interpret these values as yes or no.
  test.each(['', '?requiretls=true', '?requireTLS=', '?requireTLS=no', '?requireTLS=true&requireTLS=false'])(
    'refuses smtp:// without an explicit requireTLS: %j',
    (query) => {
      expect(errorsOf(settings, { ...variables, SMTP_URL: `smtp://u:hidden@mail.example${query}` })).toEqual([
        'SMTP_URL: smtp:// needs ?requireTLS=true in production, or ?requireTLS=false to send codes and links without encryption',
      ])
    },
  )

  test.each<[string, object, Variables]>([
    ['portals.CONSUMER.accessCodes: contains a development code', { portals: consumer }, variables],
    ['publicUrl: must be https in production', { publicUrl: 'http://portal.example' }, variables],
    [
      'portals.SYSTEM.links.passwordReset: must be https in production',
      leading({ passwordReset: 'HTTP://operators.example/reset' }),
      variables,
    ],
    ['mail.from: is the development address', { mail: { from: 'no-reply@portico.test' } }, variables],
    ['PORTICO_SECRET_KEY: is the development key', {}, { ...variables, PORTICO_SECRET_KEY: base64(developmentKey()) }],
    ['SMTP_URL: must be set in production; codes are sent by mail', {}, { PORTICO_SECRET_KEY, DATABASE_URL }],
    [
      'PORTICO_SECRET_KEY: is not random; generate a key with `openssl rand -base64 32`',
      {},
      { ...variables, PORTICO_SECRET_KEY: base64(new Uint8Array(32)) },
    ],
    [
      'DATABASE_URL: must be set in production, or database.acceptEmbedded must be true (embedded store, one process)',
      {},
      { PORTICO_SECRET_KEY, SMTP_URL },
    ],
    [
      'limits.scale (PORTICO_RATE_LIMIT_SCALE): must be at most 1 in production',
      {},
      { ...variables, PORTICO_RATE_LIMIT_SCALE: '1.1' },
    ],
    [
      'limits.scale (PORTICO_RATE_LIMIT_SCALE): must be at most 1 in production',
      { limits: { scale: 1000 } },
      variables,
    ],
  ])('refuses with one error: %s', (error, changed, environment) => {
    expect(errorsOf({ ...settings, ...changed }, environment)).toEqual([error])
  })
})

test.each<[Variables, string]>([
  [{ DATABASE_URL: 'mysql://db' }, 'DATABASE_URL: must be a URL that begins with postgres:// or postgresql://'],
  [{ REDIS_URL: 'http://redis' }, 'REDIS_URL: must be a URL that begins with redis:// or rediss://'],
  [{ SMTP_URL: 'http://mail' }, 'SMTP_URL: must be a URL that begins with smtp:// or smtps://'],
])('%j: refused', (variables, error) => {
  expect(errorsOf({}, variables)).toEqual([error])
})

test.each<Variables>([
  { DATABASE_URL: 'postgres://db:port/x' },
  { DATABASE_URL: 'postgres://u:hidden@db:70000/x' },
  { DATABASE_URL: 'postgres://u:hidden@db/x?port=70000' },
  { DATABASE_URL: 'postgres://u:hidden@db/x?port=hidden' },
  { DATABASE_URL: 'postgres://u:hidden#@db/x' },
  { DATABASE_URL: 'postgres://u:hidden@::1:5432/x' },
  { DATABASE_URL: 'postgres://u:hidden@d b/x' },
  { DATABASE_URL: 'postgres://u:hidden@' },
  { REDIS_URL: 'redis://u:hidden/@redis' },
  { REDIS_URL: 'redis://u:hidden%@redis' },
  { REDIS_URL: 'redis://u:hidden%ff@redis' },
  { REDIS_URL: 'redis://u%:41hidden@redis' },
  { REDIS_URL: 'redis://hidden%ff:p@redis' },
  { REDIS_URL: 'redis://redis/hidden' },
  { SMTP_URL: 'smtp://u:hidden?@mail' },
])('%j: refused as an invalid URL, and the error does not repeat it', (variables) => {
  const [name = ''] = Object.keys(variables)
  const [error = '', ...more] = errorsOf({}, variables)
  expect(error).toMatch(new RegExp(`^${name}: is not a valid URL: `))
  expect(error).not.toContain('hidden')
  expect(more).toEqual([])
})

test.each(['sslMode=verify-full', 'ssl_mode=require', 'sslaccept=strict', 'tls=true', 'ssl=require', 'sslmode='])(
  'DATABASE_URL: the ineffective TLS parameter %s is refused',
  (parameter) => {
    expect(errorsOf({}, { DATABASE_URL: `postgres://u:hidden@db/x?${parameter}` })).toEqual([
      'DATABASE_URL: has a TLS parameter that PostgreSQL clients ignore; use ?sslmode=verify-full',
    ])
  },
)

test.each<Variables>([
  { DATABASE_URL: 'postgres:///x?host=/var/run/postgresql&port=5433' },
  { DATABASE_URL: 'postgres://db/x?port=65535' },
  { DATABASE_URL: 'postgres://u:p%40@[::1]:5432/x?sslmode=require' },
  { DATABASE_URL: 'postgres://u:100%@db/x' },
  { DATABASE_URL: 'postgres://db/x?sslrootcert=ca.pem&sslsni=1' },
  { DATABASE_URL: 'postgres://db/x?ssl=true' },
  { REDIS_URL: 'redis://:p%2F@[::1]:6379/3' },
  { REDIS_URL: 'redis://redis/' },
  { SMTP_URL: 'smtp://mail:587/' },
])('%j: accepted', (variables) => {
  expect(errorsOf({}, variables)).toEqual([])
})

test.each<Variables>([
  { DATABASE_URL: 'postgresql://db/x' },
  { DATABASE_URL: 'postgres://db/x' },
  { REDIS_URL: 'rediss://redis' },
  { REDIS_URL: 'redis://redis' },
  { SMTP_URL: 'smtps://mail' },
])('%j: accepted, and never printed', (variables) => {
  const settings = load({}, variables)
  const [url = ''] = Object.values(variables)
  const secret = [settings.databaseUrl, settings.redisUrl, settings.smtpUrl].find((each) => each !== null)
  expect(secret?.reveal()).toBe(url)
  for (const text of [
    String(secret),
    `${secret}`,
    JSON.stringify(secret),
    inspect(secret),
    inspect({ settings }, { depth: 9 }),
  ])
    expect(text).not.toContain(url)
})

test('a Secret prints as [secret]', () => {
  const secret = new Secret('hidden')
  expect([String(secret), JSON.stringify({ secret }), inspect(secret)]).toEqual([
    '[secret]',
    '{"secret":"[secret]"}',
    '[secret]',
  ])
})

test('a file of several documents is refused: the second would be ignored', () => {
  expect(errorsOf('log: { level: warn }\n---\nprofile: production\n')).toEqual([
    `${join(folder, 'portico.yaml')}: contains more than one document`,
  ])
})

test('an empty setting or section has its default', () => {
  const settings = load('log: { level: }\nlimits:\n')
  const defaults = load({})
  expect([settings.log, settings.limits]).toEqual([defaults.log, defaults.limits])
})

test('a port with trailing letters is refused', () => {
  expect(errorsOf({}, { PORT: '80a' })).toEqual([expect.stringMatching(/^listen\.port \(PORT\): .*expected number/)])
})

const api = (url: string) => ({ backends: { transfers: { url } } })
const limit = (windowMs: number) => ({ limit: 1, windowMs })
const storage = (prefix: string) => ({ files: { storage: { kind: 's3', bucket: 'files', prefix } } })
const purposes = (type: string) => ({ files: { purposes: { AVATAR: { maxBytes: 1, types: [type] } } } })
const portal = (changed: object) => ({ portals: { SYSTEM: changed } })
const code = 'b'.repeat(64)
const day = 86_400_000

test.each<[string, object]>([
  ['backends.transfers.url', api('http://somebody@10.0.0.5')],
  ['backends.transfers.url', api('http://:hidden@10.0.0.5')],
  ['backends.transfers.url', api('httpx://10.0.0.5')],
  ['backends.transfers.url', api('http://10.0.0.5/#part')],
  ['access.leaseMs', { access: { leaseMs: 5_001 } }],
  ['access.invitations.lifeMs', { access: { invitations: { lifeMs: day + 1 } } }],
  ['access.invitations.maxPending', { access: { invitations: { maxPending: 501 } } }],
  // For other limits, 0 means no limit. Here it would lock everyone out.
  ['tokens.accessTtlMs', { tokens: { accessTtlMs: 0 } }],
  ['sessions.absoluteMs', { sessions: { absoluteMs: 0 } }],
  ['sessions.idleMs', { sessions: { idleMs: 0 } }],
  ['secureChannel.sessionTtlMs', { secureChannel: { sessionTtlMs: 0 } }],
  ['secureChannel.keyTtlMs', { secureChannel: { keyTtlMs: 999, keyOverlapMs: 0 } }],
  ['sessions.maxConcurrent', { sessions: { maxConcurrent: 101 } }],
  ['login.attempts', { login: { attempts: 11 } }],
  ['mfa.issuer', { mfa: { issuer: 'Portal:one' } }],
  // The appended digits would change the path or the key, and then every password would pass.
  ...['https://hibp.example/range', 'https://hibp.example/?key=hidden'].map((url): [string, object] => [
    'passwords.breachCheck.url',
    { passwords: { breachCheck: { url } } },
  ]),
  ['passwords.minimumScore', { passwords: { minimumScore: 5 } }],
  ...['nobody', 'Portal', 'a@x.example, b@x.example', 'Portal <no-reply>', 'Portal <a@x.example', ''].map(
    (from): [string, object] => ['mail.from', { mail: { from } }],
  ),
  ['portals.SYSTEM.links.signIn', portal({ links: { signIn: '/sign in' } })],
  ['portals.SYSTEM.links.passwordReset', portal({ links: { passwordReset: '/reset#x' } })],
  ['portals.SYSTEM.accessCodes.0', portal({ accessCodes: ['A'.repeat(64)] })],
  ['portals.SYSTEM.accessCodes.0', portal({ accessCodes: ['a'.repeat(65)] })],
  ['portals.SYSTEM.accessCodes', portal({ accessCodes: [] })],
  // This is the digest that the documented command prints for an unset variable. It would accept requests without an
  // access code.
  ['portals.SYSTEM.accessCodes.0', portal({ accessCodes: [hash('sha256', '')] })],
  ['portals', { portals: { CONSUMER: { accessCodes: [code] }, SYSTEM: { accessCodes: ['a'.repeat(64), code] } } }],
  ['portals.SYSTEM.edge.trustedProxies.0', portal({ edge: { trustedProxies: ['10.0.0.0'] } })],
  ['portals.SYSTEM.edge.trustedProxies.0', portal({ edge: { trustedProxies: ['10.0.0.0/33'] } })],
  ...['172.16/12', '192.168.1/24', '10/8', '010.0.0.0/8', '0x0a.0.0.0/8'].map((range): [string, object] => [
    'portals.SYSTEM.edge.trustedProxies.0',
    portal({ edge: { trustedProxies: [range] } }),
  ]),
  ['portals.SYSTEM.edge.trustedProxies', portal({ edge: { trustedProxies: ['0.0.0.0/0'] } })],
  ['portals.SYSTEM.edge.trustedProxies', portal({ edge: { trustedProxies: ['0.0.0.0/1', '128.0.0.0/1'] } })],
  ['limits.ipv6Prefix', { limits: { ipv6Prefix: 65 } }],
  ['limits.ipv6Prefix', { limits: { ipv6Prefix: 31 } }],
  ['limits.scale', { limits: { scale: 0 } }],
  ['limits.address.windowMs', { limits: { address: limit(999) } }],
  ['listen.port', { listen: { port: 65_536 } }],
  ['files.storage.prefix', storage('folder')],
  ['files.storage.prefix', storage('/folder/')],
  ['files.purposes.AVATAR.types.0', purposes('image')],
  ['files.purposes.AVATAR.types.0', purposes('image/png; charset=x')],
  ['exports.pageSize', { exports: { pageSize: 10_001 } }],
  ['jobs.failedRetentionMs', { jobs: { failedRetentionMs: day + 1 } }],
])('%s: an invalid value is refused: %j', (name, settings) => {
  const errors = errorsOf(settings)
  expect(errors).toHaveLength(1)
  expect(errors[0]?.replace(/ \([A-Z_]+\)/, '')).toMatch(new RegExp(`^${name.replaceAll('.', '\\.')}: `))
})

test.each<[string, object]>([
  ['a sender without a name', { mail: { from: 'no-reply@portal.example' } }],
  ['maximum values', { sessions: { maxConcurrent: 100 }, login: { attempts: 10 }, limits: { ipv6Prefix: 64 } }],
  ['a range query in the path', { passwords: { breachCheck: { url: 'https://hibp.example/range/' } } }],
  ['a range query in the query', { passwords: { breachCheck: { url: 'https://hibp.example/?key=hidden&range=' } } }],
  ['a prefix of folders', storage('a/b-1/')],
  ['an IPv6 range', portal({ edge: { trustedProxies: ['2001:db8::/32'] } })],
  [
    'an IPv4 range, also mapped to IPv6',
    portal({ edge: { trustedProxies: ['172.16.0.0/12', '::ffff:10.0.0.0/104'] } }),
  ],
  ['no statement timeout', { database: { statementTimeoutMs: 0, lockTimeoutMs: 5_000 } }],
  [
    'equal timeouts for the headers and the request',
    { requests: { headersTimeoutMs: 60_000, uploadTimeoutMs: 60_000 } },
  ],
])('%s: accepted', (_name, settings) => {
  expect(errorsOf(settings)).toEqual([])
})
