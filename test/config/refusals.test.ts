import { hash } from 'node:crypto'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { Secret } from '../../src/config/index.ts'
import { configurationFile } from './configuration-file.ts'

const { errorsOf, folder, load } = configurationFile()

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

test.each(['redis://u:hidden@redis?tls=true', 'redis://redis?tls=', 'redis://redis?tls=off&tls=on'])(
  'REDIS_URL: the ineffective TLS parameter of %s is refused',
  (url) => {
    expect(errorsOf({}, { REDIS_URL: url })).toEqual([
      'REDIS_URL: has a tls parameter other than off; use rediss:// for TLS',
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
    `${join(folder, 'portico.yaml')}: contains more than one document; keep one`,
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

function api(url: string) {
  return { backends: { transfers: { url } } }
}
function limit(windowMs: number) {
  return { limit: 1, windowMs }
}
function storage(prefix: string) {
  return { files: { storage: { kind: 's3', bucket: 'files', prefix } } }
}
function purposes(type: string) {
  return { files: { purposes: { AVATAR: { maxBytes: 1, types: [type] } } } }
}
function portal(changed: object) {
  return { portals: { SYSTEM: changed } }
}
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
  // 0 means no limit elsewhere. Here it would lock everyone out.
  ['tokens.accessTtlMs', { tokens: { accessTtlMs: 0 } }],
  ['sessions.absoluteMs', { sessions: { absoluteMs: 0 } }],
  ['sessions.idleMs', { sessions: { idleMs: 0 } }],
  ['secureChannel.sessionTtlMs', { secureChannel: { sessionTtlMs: 0 } }],
  ['secureChannel.keyTtlMs', { secureChannel: { keyTtlMs: 2 * 3_600_000 - 1 } }],
  ['sessions.maxConcurrent', { sessions: { maxConcurrent: 101 } }],
  ['login.attempts', { login: { attempts: 11 } }],
  ['mfa.issuer', { mfa: { issuer: 'Portal:one' } }],
  // The gateway appends hash digits to the URL. Here, every password would pass.
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
  // The documented command prints this digest for an unset variable. It would accept requests without an access code.
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
  ['limits.scale', { limits: { scale: 0 } }],
  ['limits.address.windowMs', { limits: { address: limit(999) } }],
  ['listen.port', { listen: { port: 65_536 } }],
  ['files.storage.prefix', storage('folder')],
  ['files.storage.prefix', storage('/folder/')],
  ['files.purposes.AVATAR.types.0', purposes('image')],
  ['files.purposes.AVATAR.types.0', purposes('image/png; charset=x')],
  ['jobs.failedRetentionMs', { jobs: { failedRetentionMs: day + 1 } }],
])('%s: an invalid value is refused: %j', (name, settings) => {
  const errors = errorsOf(settings)
  expect(errors).toHaveLength(1)
  expect(errors[0]?.replace(/ \([A-Z_]+\)/, '')).toMatch(new RegExp(`^${name.replaceAll('.', '\\.')}: `))
})

test.each<[string, object]>([
  ['a sender without a name', { mail: { from: 'no-reply@portal.example' } }],
  ['maximum values', { sessions: { maxConcurrent: 100 }, login: { attempts: 10 } }],
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
