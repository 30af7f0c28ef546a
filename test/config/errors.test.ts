import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ConfigurationError } from '../../src/config/index.ts'
import { loadSettings } from '../harness/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

function errorsOf(yaml: string | Uint8Array): string[] {
  const file = join(folder, 'portico.yaml')
  writeFileSync(file, yaml)
  try {
    loadSettings({ PORTICO_CONFIG: file })
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.errors
    throw error
  }
}

test.each([
  ['backends: { transfers: { url: http://user:hidden@10.0.0.5 } }', 'backends.transfers.url'],
  ['backends: { default: { url: "http://10.0.0.5/?key=hidden" } }', 'backends.default.url'],
  ['publicUrl: https://user:hidden@portal.example', 'publicUrl'],
  ['turnstile: { verifyUrl: "https://user:hidden@turnstile.example" }', 'turnstile.verifyUrl'],
  ['money: { exchange: { provider: { url: "https://user:hidden@rates.example" } } }', 'money.exchange.provider.url'],
])('a URL with credentials is refused, and the error does not repeat it: %s', (yaml, name) => {
  const errors = errorsOf(yaml)
  expect(errors.filter((error) => error.startsWith(`${name}: a URL without`))).toHaveLength(1)
  expect(errors.join()).not.toContain('hidden')
})

test.each([
  [
    'turnstile: { secret: hidden }',
    ['must be set, because turnstile.secret is set and portals.CONSUMER.app is served'],
  ],
  [
    'turnstile: { secret: hidden }\nportals: { CONSUMER: { app: { accessCode: unknown } } }',
    ['must be set, because turnstile.secret is set and portals.SYSTEM.app is served'],
  ],
  [
    'turnstile: { secret: hidden }\nportals: { CONSUMER: { app: { accessCode: unknown } }, SYSTEM: { app: { accessCode: unknown } } }',
    [],
  ],
  ['turnstile: { secret: hidden, siteKey: 1x00000000000000000000AA }', []],
  ['turnstile: { siteKey: "a key" }', ['the site key of a Turnstile widget, such as 0x4AAAAAAA…']],
])('turnstile.siteKey, which an application needs for the CAPTCHA: %j', (yaml, reasons) => {
  expect(errorsOf(yaml)).toEqual(reasons.map((reason) => `turnstile.siteKey: ${reason}`))
})

test('a file that is not valid UTF-8 is refused', () => {
  const latin = Buffer.from('mfa: { issuer: Größe }', 'latin1')
  expect(errorsOf(latin)).toEqual([expect.stringMatching(/portico\.yaml: .*utf-8/)])
  expect(errorsOf('mfa: { issuer: Größe }')).toEqual([])
})

test('an invalid backend: the errors name the invalid settings', () => {
  const errors = errorsOf('backends: { transfers: { timeoutMs: 100, colour: red } }')
  expect(errors).toEqual([
    expect.stringMatching(/^backends\.transfers\.url: /),
    expect.stringMatching(/^backends\.transfers: .*"colour"/),
  ])
})

test('a backend with an unknown setting: the error names the setting', () => {
  expect(errorsOf('backends: { transfers: { url: http://10.0.0.5, colour: red } }')).toEqual([
    expect.stringMatching(/^backends\.transfers: .*"colour"/),
  ])
})

test.each(['http://10.0.0.5', 'inprocess', '[]', '5'])(
  'an invalid backend: the error lists the valid forms: %s',
  (place) => {
    expect(errorsOf(`backends: { transfers: ${place} }`)).toEqual([
      'backends.transfers: `in-process`, or settings with a `url`',
    ])
  },
)

test.each(['10.0.0.5:8080', 'localhost:8080', '10.0.0.5', 'ftp://10.0.0.5', 'http://', ''])(
  'a backend URL without a valid scheme: the error names the schemes: %j',
  (url) => {
    expect(errorsOf(JSON.stringify({ backends: { transfers: { url } } }))).toEqual([
      'backends.transfers.url: a URL that begins with http:// or https://',
    ])
  },
)

test('an unknown profile: the only error is the profile', () => {
  expect(errorsOf('profile: prod')).toEqual([expect.stringMatching(/^profile \(PORTICO_PROFILE\): Invalid option/)])
})

test.each(['x y', '[::1]', 'http://portal.example', '127.0.0.1:8080', '/run/portico.sock'])(
  'listen.host: an invalid address is refused: %s',
  (host) => {
    expect(errorsOf(JSON.stringify({ listen: { host } }))).toEqual([
      'listen.host (HOST): an address such as 127.0.0.1 or ::1, or a host name',
    ])
  },
)

test.each(['0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'gateway_1.internal', 'portal.example.'])(
  'listen.host: an address or host name is accepted: %s',
  (host) => {
    expect(errorsOf(JSON.stringify({ listen: { host } }))).toEqual([])
  },
)

test.each(['x y', '[::1]', '*', 'portico:9090', ''])('listen.operationsAllowedHosts: refuses %j', (name) => {
  expect(errorsOf(JSON.stringify({ listen: { operationsAllowedHosts: [name] } }))).toHaveLength(1)
})

test('OPS_HOST: an invalid address is refused', () => {
  expect(errorsOf(JSON.stringify({ listen: { operationsHost: 'x y' } }))).toEqual([
    expect.stringMatching(/^listen\.operationsHost \(OPS_HOST\): /),
  ])
})

test('an unknown setting at the top level: the error names it', () => {
  expect(errorsOf('colour: red')).toEqual([expect.stringMatching(/^Unrecognized key: "colour"/)])
})

/** docs/decisions/0056 */
test('the removed section identity: the error names it', () => {
  const settings = { identity: { sweepEveryMs: 600_000 } }
  expect(errorsOf(JSON.stringify(settings))).toEqual([expect.stringMatching('^Unrecognized key: "identity"')])
})

/** docs/decisions/0056 */
test.each<[section: string, keys: string[]]>([
  ['audit', ['sealEveryMs']],
  ['requests', ['uploadBytesPerSecond', 'maxHeaders', 'maxDepth', 'maxListDepth']],
  ['limits', ['ipv6Prefix']],
  ['login.knownDevices', ['max', 'reservedCodes']],
  ['passwords', ['concurrency', 'queue']],
  ['background', ['concurrency', 'capacity', 'spreadMs', 'retryMs', 'closeMs']],
  ['secureChannel', ['keyOverlapMs']],
  ['mail', ['outboxSize']],
  ['database', ['vacuumEveryMs']],
  ['money.background', ['expiryMs']],
  ['files', ['orphanAfterMs', 'sweepEveryMs']],
  ['exports', ['pageSize', 'attempts', 'sweepEveryMs']],
  ['jobs', ['pollMs', 'leaseMs']],
])('removed settings of %s: the error names them', (section, keys) => {
  const [outer = '', inner] = section.split('.')
  const settings = Object.fromEntries(keys.map((key) => [key, 1]))
  const named = keys.map((key) => `"${key}"`).join(', ')
  expect(errorsOf(JSON.stringify({ [outer]: inner ? { [inner]: settings } : settings }))).toEqual([
    expect.stringMatching(`^${section}: Unrecognized keys?: ${named}`),
  ])
})

test.each([
  ['PORT', 'listen.port (PORT): Too small'],
  ['PORTICO_RATE_LIMIT_SCALE', 'limits.scale (PORTICO_RATE_LIMIT_SCALE): Too small'],
])('%s: a negative number is too small', (name, message) => {
  const load = () => loadSettings({ [name]: '-1' })
  expect(load).toThrow(ConfigurationError)
  expect(load).toThrow(message)
})

test('keys in the URLs of the rate provider and the breach check are masked when printed', () => {
  const file = join(folder, 'provider.yaml')
  const url = 'https://rates.example/latest?key=hidden'
  const provider = { url, refreshMs: 1_000, staleAfterMs: 2_000 }
  const range = `${url}&range=`
  const passwords = { breachCheck: { url: range } }
  writeFileSync(file, JSON.stringify({ money: { exchange: { provider } }, passwords }))
  const settings = loadSettings({ PORTICO_CONFIG: file })
  expect(settings.money.exchange.provider?.url.reveal()).toBe(url)
  expect(settings.passwords.breachCheck.url?.reveal()).toBe(range)
  expect(JSON.stringify(settings)).not.toContain('hidden')
  expect(JSON.stringify(settings)).toContain('[secret]')
})

test.each(['- profile: production', 'profile=production', '42'])('a file that is not a map is refused: %s', (yaml) => {
  expect(errorsOf(yaml)).toEqual([`${join(folder, 'portico.yaml')}: must be a map of settings`])
})

test.each(['', '# nothing yet', 'null'])('an empty file changes nothing: %j', (yaml) => {
  expect(errorsOf(yaml)).toEqual([])
})

test.each([
  '__proto__: { profile: production }',
  'limits: { __proto__: { scale: 5 } }',
  'portals: [{ __proto__: {} }]',
])('the key __proto__ is refused: %s', (yaml) => {
  expect(errorsOf(yaml)).toContain(`${join(folder, 'portico.yaml')}: contains the key __proto__; remove it`)
})

test('a section that is not a map is refused, although a variable would override it', () => {
  expect(errorsOf('listen: 8081')).toEqual(['listen: must be a map of settings'])
})

test('database.poolSize must be at least 3: an export needs two connections', () => {
  expect(errorsOf('database: { poolSize: 2 }')).toEqual([expect.stringMatching(/^database\.poolSize: Too small/)])
  expect(errorsOf('database: { poolSize: 3 }')).toEqual([])
})

const policy = '{ caller: account, workspace: required, permission: null, stepUp: false, rate: general }'
const legacy = `prefix: /web/v1/consumer/legacy, policy: ${policy}, methods: [GET]`

test.each([
  ['database: { lockTimeoutMs: 5000 }', 'database.lockTimeoutMs: must be less than database.statementTimeoutMs'],
  ['mail: { from: nobody }', 'mail.from: a sender such as Portal <no-reply@portal.example>'],
  [
    'portals: { SYSTEM: { links: { signIn: sign-in } } }',
    'portals.SYSTEM.links.signIn: a path that begins with a slash, or a URL that begins with http:// or https://',
  ],
  ['publicUrl: https://portal.example/?theme=dark', 'publicUrl: a URL without a query or fragment'],
  [
    'money: { exchange: { provider: { url: https://rates.example, refreshMs: 60000, staleAfterMs: 60000 } } }',
    'money.exchange.provider.staleAfterMs: must be greater than money.exchange.provider.refreshMs',
  ],
  ['listen: { port: 9090 }', 'listen.operationsPort: must differ from listen.port'],
  [
    'requests: { headersTimeoutMs: 300001 }',
    'requests.headersTimeoutMs: must not be greater than requests.uploadTimeoutMs',
  ],
  [
    'portals: { CONSUMER: { mfa: { mailCodes: never } } }',
    'portals.CONSUMER.mfa.mailCodes: never needs portals.CONSUMER.selfRegistration: closed',
  ],
  [
    'backends: { transfers: { url: http://10.0.0.5, tls: { caFile: ca.pem } } }',
    'backends.transfers.tls: needs a url that begins with https://',
  ],
  [
    'backends: { transfers: { url: https://10.0.0.5, tls: { certFile: a.pem } } }',
    'backends.transfers.tls: certFile and keyFile must be set together',
  ],
  [
    'backends: { default: { url: https://10.0.0.5, tls: { keyFile: a.pem } } }',
    'backends.default.tls: certFile and keyFile must be set together',
  ],
  [
    'backends: { default: { url: http://10.0.0.5 }, files: in-process, transfers: { url: http://10.0.0.6 } }',
    'backends.transfers.audience: must differ from that of backends.default, which has another url',
  ],
  [
    `{ backends: { default: { url: http://10.0.0.5 } }, passThrough: [{ ${legacy}, url: http://10.0.0.6 }] }`,
    'passThrough.0.audience: must differ from that of backends.default, which has another url',
  ],
  [
    `passThrough: [{ ${legacy}, url: http://10.0.0.6, tls: { caFile: ca.pem } }]`,
    'passThrough.0.tls: needs a url that begins with https://',
  ],
  [
    `passThrough: [{ ${legacy}, url: https://10.0.0.6, tls: { certFile: a.pem } }]`,
    'passThrough.0.tls: certFile and keyFile must be set together',
  ],
  ['codedValues: { rank: { KING: 1 } }', 'codedValues: unknown family rank; docs/reference/numbers.md lists them'],
  [
    'codedValues: { roleType: { KING: 1 } }',
    'codedValues: unknown code KING in roleType; docs/reference/numbers.md lists them',
  ],
  [
    'codedValues: { roleType: { CUSTOM: 10010901 } }',
    'codedValues: two codes of roleType have the same number; change one',
  ],
])('an inconsistent configuration is refused: %s', (yaml, error) => {
  expect(errorsOf(yaml)).toEqual([error])
})

test.each(['caFile', 'certFile', 'keyFile'])('a %s that is named by nothing is not the same as none', (name) => {
  expect(errorsOf(`backends: { transfers: { url: https://10.0.0.5, tls: { ${name}: "" } } }`)).toContainEqual(
    expect.stringMatching(new RegExp(`^backends\\.transfers\\.tls\\.${name}: Too small`)),
  )
})

test.each([
  'listen: { port: 0, operationsPort: 0 }',
  'backends: { transfers: { url: https://10.0.0.5, tls: { caFile: ca.pem, certFile: a.pem, keyFile: b.pem } } }',
  'backends: { transfers: { url: http://10.0.0.5, timeoutMs: 9000 }, wallets: { url: http://10.0.0.5 } }',
  'backends: { transfers: { url: http://10.0.0.5, audience: one }, wallets: { url: http://10.0.0.6, audience: two } }',
  'backends: { transfers: { url: HTTPS://10.0.0.5, tls: { caFile: ca.pem } } }',
  'codedValues: { roleType: { CUSTOM: 10010901, OWNER: 10010902 } }',
])('a consistent configuration is accepted: %s', (yaml) => {
  expect(errorsOf(yaml)).toEqual([])
})

const beyondTimers = 864_000_001
const beyondDates = 9_007_199_254_740_991
const hundredYears = 36_500 * 86_400_000

test.each([
  ['explain.ttlMs', `explain: { ttlMs: ${beyondTimers} }`],
  ['shutdown.delayMs', `shutdown: { delayMs: ${beyondTimers} }`],
  ['backends.default.timeoutMs', `backends: { default: { url: http://10.0.0.5, timeoutMs: ${beyondTimers} } }`],
  ['database.statementTimeoutMs', `database: { statementTimeoutMs: ${beyondTimers} }`],
  ['sessions.absoluteMs', `sessions: { absoluteMs: ${beyondDates} }`],
  ['access.invitations.lifeMs', 'access: { invitations: { lifeMs: 8640000000000000 } }'],
  ['sessions.absoluteMs', `sessions: { absoluteMs: ${hundredYears + 1} }`],
  ['limits.address.windowMs', `limits: { address: { windowMs: ${beyondDates} } }`],
])('a duration beyond timers or dates is refused: %s', (name, yaml) => {
  expect(errorsOf(yaml)).toEqual([expect.stringMatching(new RegExp(`^${name}: Too big`))])
})

test('durations of a month, a year and a hundred years are accepted', () => {
  expect(errorsOf(`sessions: { absoluteMs: ${hundredYears} }`)).toEqual([])
  expect(errorsOf('{ exports: { lifeMs: 2592000000 }, access: { apiKeys: { maxLifeMs: 31536000000 } } }')).toEqual([])
})
