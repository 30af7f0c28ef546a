import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ConfigurationError, loadConfiguration } from '../../src/config/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

const faultsOf = (yaml: string | Uint8Array): string[] => {
  const file = join(folder, 'portico.yaml')
  writeFileSync(file, yaml)
  try {
    loadConfiguration({ PORTICO_CONFIG: file })
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
])('a URL that contains a secret is refused and not repeated: %s', (yaml, name) => {
  const faults = faultsOf(yaml)
  expect(faults.filter((fault) => fault.startsWith(`${name}: a URL without`))).toHaveLength(1)
  expect(faults.join()).not.toContain('hidden')
})

test('a file that is no UTF-8 is refused, in which other letters would be shown to people as marks', () => {
  const latin = Buffer.from('mfa: { issuer: Größe }', 'latin1')
  expect(faultsOf(latin)).toEqual([expect.stringMatching(/portico\.yaml: .*utf-8/)])
  expect(faultsOf('mfa: { issuer: Größe }')).toEqual([])
})

test('of a back-end that is written wrongly, the setting at fault is named', () => {
  const faults = faultsOf('backends: { transfers: { timeoutMs: 100, colour: red } }')
  expect(faults).toEqual([
    expect.stringMatching(/^backends\.transfers\.url: /),
    expect.stringMatching(/^backends\.transfers: .*"colour"/),
  ])
})

test('of a back-end that says one thing too much, that is named, and not the back-end alone', () => {
  expect(faultsOf('backends: { transfers: { url: http://10.0.0.5, colour: red } }')).toEqual([
    expect.stringMatching(/^backends\.transfers: .*"colour"/),
  ])
})

test.each(['http://10.0.0.5', 'inprocess', '[]', '5'])(
  'of a back-end that is no place, what it may be is told: %s',
  (place) => {
    expect(faultsOf(`backends: { transfers: ${place} }`)).toEqual([
      'backends.transfers: `in-process`, or settings with a `url`',
    ])
  },
)

test.each(['10.0.0.5:8080', 'localhost:8080', '10.0.0.5', 'ftp://10.0.0.5', 'http://', ''])(
  'of an address without what it begins with, that is told: %j',
  (url) => {
    expect(faultsOf(JSON.stringify({ backends: { transfers: { url } } }))).toEqual([
      'backends.transfers.url: a URL that begins with http:// or https://',
    ])
  },
)

test('of a profile that there is not, nothing but its name is a fault: which of them was meant is not known', () => {
  expect(faultsOf('profile: prod')).toEqual([expect.stringMatching(/^profile \(PORTICO_PROFILE\): Invalid option/)])
})

test.each(['x y', '[::1]', 'http://portal.example', '127.0.0.1:8080', '/run/portico.sock'])(
  'what no listener can have for its address is refused before the start: %s',
  (host) => {
    expect(faultsOf(JSON.stringify({ listen: { host } }))).toEqual([
      'listen.host (HOST): an address such as 127.0.0.1 or ::1, or a host name',
    ])
  },
)

test.each(['0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'gateway_1.internal', 'portal.example.'])(
  'an address and a name of a machine are taken to listen on: %s',
  (host) => {
    expect(faultsOf(JSON.stringify({ listen: { host } }))).toEqual([])
  },
)

test('of a setting that there is not, at the top of the file, the name stands in the fault', () => {
  expect(faultsOf('colour: red')).toEqual([expect.stringMatching(/^Unrecognized key: "colour"/)])
})

test.each([
  ['PORT', 'listen.port (PORT): Too small'],
  ['PORTICO_RATE_LIMIT_SCALE', 'limits.scale (PORTICO_RATE_LIMIT_SCALE): Too small'],
])('a number below nothing in %s is too small, and not no number', (name, told) => {
  const load = () => loadConfiguration({ [name]: '-1' })
  expect(load).toThrow(ConfigurationError)
  expect(load).toThrow(told)
})

test('a key in the address of the rate provider, or of the breach check, is masked wherever the configuration is printed', () => {
  const file = join(folder, 'provider.yaml')
  const url = 'https://rates.example/latest?key=hidden'
  const provider = { url, refreshMs: 1_000, staleAfterMs: 2_000, timeoutMs: 500 }
  const range = `${url}&range=`
  const passwords = { breachCheck: { url: range } }
  writeFileSync(file, JSON.stringify({ money: { exchange: { provider } }, passwords }))
  const settings = loadConfiguration({ PORTICO_CONFIG: file })
  expect(settings.money.exchange.provider?.url.reveal()).toBe(url)
  expect(settings.passwords.breachCheck.url?.reveal()).toBe(range)
  expect(JSON.stringify(settings)).not.toContain('hidden')
  expect(JSON.stringify(settings)).toContain('[secret]')
})

test.each(['- profile: production', 'profile=production', '42'])(
  'a file that holds no settings by name is refused: %s',
  (yaml) => {
    expect(faultsOf(yaml)).toEqual([`${join(folder, 'portico.yaml')}: must be a map of settings`])
  },
)

test.each(['', '# nothing yet', 'null'])('a file that says nothing changes nothing: %j', (yaml) => {
  expect(faultsOf(yaml)).toEqual([])
})

test.each([
  '__proto__: { profile: production }',
  'limits: { __proto__: { scale: 5 } }',
  'portals: [{ __proto__: {} }]',
])('a setting named as what every object inherits is a fault, and says nothing in secret: %s', (yaml) => {
  expect(faultsOf(yaml)).toContain(`${join(folder, 'portico.yaml')}: names a setting __proto__`)
})

test('a section that is none is named, although variables may fill it', () => {
  expect(faultsOf('listen: 8081')).toEqual(['listen: must be a map of settings'])
})

test('as many jobs at once as there are connections are refused: an export needs two of them', () => {
  expect(faultsOf('{ database: { poolSize: 4 }, jobs: { concurrency: 4 } }')).toEqual([
    'database.poolSize: must be greater than jobs.concurrency',
  ])
  expect(faultsOf('{ database: { poolSize: 5 }, jobs: { concurrency: 4 } }')).toEqual([])
})

test.each([
  ['database: { lockTimeoutMs: 5000 }', 'database.lockTimeoutMs: must be less than database.statementTimeoutMs'],
  ['mail: { from: nobody }', 'mail.from: a sender such as Portal <no-reply@portal.example>'],
  [
    'portals: { SYSTEM: { links: { signIn: sign-in } } }',
    'portals.SYSTEM.links.signIn: a path that begins with a slash, or a URL that begins with http:// or https://',
  ],
  ['publicUrl: https://portal.example/?theme=dark', 'publicUrl: a URL without a query or fragment'],
  [
    'money: { exchange: { provider: { url: https://rates.example, refreshMs: 60000, staleAfterMs: 60000, timeoutMs: 500 } } }',
    'money.exchange.provider.staleAfterMs: must be greater than money.exchange.provider.refreshMs',
  ],
  ['listen: { port: 9090 }', 'listen.operationsPort: must be another port than listen.port'],
  [
    'requests: { headersTimeoutMs: 300001 }',
    'requests.headersTimeoutMs: must not be greater than requests.uploadTimeoutMs',
  ],
  ['secureChannel: { keyOverlapMs: 86400000 }', 'secureChannel.keyOverlapMs: must be less than secureChannel.keyTtlMs'],
  [
    'backends: { transfers: { url: http://10.0.0.5, tls: { caFile: ca.pem } } }',
    'backends.transfers.tls: needs a url that begins with https://',
  ],
  [
    'backends: { transfers: { url: https://10.0.0.5, tls: { certFile: a.pem } } }',
    'backends.transfers.tls: a certFile needs a keyFile, and a keyFile a certFile',
  ],
  [
    'backends: { default: { url: https://10.0.0.5, tls: { keyFile: a.pem } } }',
    'backends.default.tls: a certFile needs a keyFile, and a keyFile a certFile',
  ],
  [
    'backends: { default: { url: http://10.0.0.5 }, files: in-process, transfers: { url: http://10.0.0.6 } }',
    'backends.transfers.audience: must not be that of backends.default, which is at another url',
  ],
  ['codedValues: { rank: { KING: 1 } }', 'codedValues: there is no family rank'],
  ['codedValues: { roleType: { KING: 1 } }', 'codedValues: roleType has no KING'],
  ['codedValues: { roleType: { CUSTOM: 10010901 } }', 'codedValues: two codes of roleType share a number'],
])('what a start would be refused for is named before it: %s', (yaml, fault) => {
  expect(faultsOf(yaml)).toEqual([fault])
})

test.each(['caFile', 'certFile', 'keyFile'])('a %s that is named by nothing is not the same as none', (name) => {
  expect(faultsOf(`backends: { transfers: { url: https://10.0.0.5, tls: { ${name}: "" } } }`)).toContainEqual(
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
])('what only looks as if it clashed is taken: %s', (yaml) => {
  expect(faultsOf(yaml)).toEqual([])
})

const beyondTimers = 864_000_001
const beyondDates = 9_007_199_254_740_991
const hundredYears = 36_500 * 86_400_000

test.each([
  ['explain.ttlMs', `explain: { ttlMs: ${beyondTimers} }`],
  ['shutdown.delayMs', `shutdown: { delayMs: ${beyondTimers} }`],
  ['jobs.pollMs', `jobs: { pollMs: ${beyondTimers} }`],
  ['backends.default.timeoutMs', `backends: { default: { url: http://10.0.0.5, timeoutMs: ${beyondTimers} } }`],
  ['database.statementTimeoutMs', `database: { statementTimeoutMs: ${beyondTimers} }`],
  ['sessions.absoluteMs', `sessions: { absoluteMs: ${beyondDates} }`],
  ['access.invitations.lifeMs', 'access: { invitations: { lifeMs: 8640000000000000 } }'],
  ['sessions.absoluteMs', `sessions: { absoluteMs: ${hundredYears + 1} }`],
  ['limits.address.windowMs', `limits: { address: { windowMs: ${beyondDates} } }`],
])('a time that no timer or date can hold is refused: %s', (name, yaml) => {
  expect(faultsOf(yaml)).toEqual([expect.stringMatching(new RegExp(`^${name}: Too big`))])
})

test('a month between two sweeps, a year that a key lives and a hundred of a session are no such times', () => {
  expect(faultsOf(`sessions: { absoluteMs: ${hundredYears} }`)).toEqual([])
  expect(faultsOf('{ files: { sweepEveryMs: 2592000000 }, access: { apiKeys: { maxLifeMs: 31536000000 } } }')).toEqual(
    [],
  )
})
