import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import * as apiKeys from '../../src/banking/api-keys/contract.ts'
import * as exchanges from '../../src/banking/exchanges/contract.ts'
import * as operators from '../../src/banking/operators/contract.ts'
import * as profile from '../../src/banking/profile/contract.ts'
import * as roles from '../../src/banking/roles/contract.ts'
import * as channels from '../../src/banking/withdrawal-channels/contract.ts'
import * as workspaces from '../../src/banking/workspaces/contract.ts'
import { instant, line } from '../../src/contract/fields.ts'
import { catalogue } from '../../src/contract/index.ts'
import * as ipWhitelist from '../../src/identity/ip-whitelist/contract.ts'
import * as mfa from '../../src/identity/mfa/contract.ts'
import * as password from '../../src/identity/passwords/contract.ts'
import { openSecureChannel } from '../../src/identity/secure-channel/contract.ts'
import * as sessions from '../../src/identity/sessions/contract.ts'
import { fieldsOf } from '../../src/testing/inputs.ts'

/** SCIM ignores unknown attributes (RFC 7644, 3.3), so its bodies are loose. */
const loose = new Set(catalogue.flatMap(({ id, protocol }) => (protocol === 'scim' ? [id] : [])))

const schemas = catalogue.flatMap(({ id, query, body }) => [
  ...(query ? [{ id, part: 'query', schema: query }] : []),
  ...(body instanceof z.ZodType && !loose.has(id) ? [{ id, part: 'body', schema: body }] : []),
])

function schemaOf(operation: string): z.ZodType {
  return schemas.find(({ id, part }) => id === operation && part === 'body')?.schema ?? expect.fail(operation)
}

function objectsIn(node: unknown): Record<string, unknown>[] {
  if (typeof node !== 'object' || node === null) return []
  const inner = Object.values(node).flatMap(objectsIn)
  return 'type' in node && node.type === 'object' ? [{ ...node }, ...inner] : inner
}

describe.each(schemas)('the $part of $id', ({ id, schema }) => {
  it('is strict at every level', () => {
    const objects = objectsIn(z.toJSONSchema(schema, { io: 'input' }))
    expect(objects.length).toBeGreaterThan(0)
    for (const found of objects) {
      if ('propertyNames' in found) expect(found.propertyNames).toHaveProperty('pattern')
      else expect(found.additionalProperties).toBe(false)
    }
  })

  it('refuses unknown fields, `__proto__` included, and values that are not objects', () => {
    // Opening a channel accepts every body as an empty payload.
    const acceptsAll = id === openSecureChannel.id
    const wrong = ['{"surprise":1}', '{"__proto__":{"a":1}}', '{"constructor":{}}', '[]', 'null', '5', '"text"']
    for (const text of wrong) expect(schema.safeParse(JSON.parse(text)).success, text).toBe(acceptsAll)
  })
})

it('secureChannel.open: a malformed body reaches the handler as an empty payload', () => {
  const wrong = [undefined, null, {}, [], { payload: 5 }, { payload: 'x', more: 1 }, { payload: 'x'.repeat(9_000) }]
  for (const body of wrong) expect(openSecureChannel.body.parse(body)).toEqual({ payload: '' })
  expect(openSecureChannel.body.parse({ payload: 'a.b.c' })).toEqual({ payload: 'a.b.c' })
})

it('a password that is too long is refused before NFKC, which can make it eighteen times as long', () => {
  const newPassword = '\ufdfa'.repeat(87_000)
  const refused = password.resetPassword.body.safeParse({ token: 'A'.repeat(43), newPassword })
  expect(refused.error?.issues.map(({ code }) => code)).toEqual(['too_big'])
})

const id = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'
const bank = {
  channelType: 'BANK',
  currency: 'EUR',
  country: 'DE',
  accountHolderName: 'Ada',
  accountNumber: 'DE89 3704 0044 0532 0130 00',
}
const quote = { sourceCurrency: 'USD', targetCurrency: 'JPY', amount: '12.50', fixedSide: 'SOURCE' }
function addresses(...items: string[]) {
  return { addresses: items }
}

const cases: { name: string; schema: z.ZodType; accepts: unknown[]; refuses: unknown[] }[] = [
  {
    name: 'a body that may be absent',
    schema: ipWhitelist.enableIpWhitelist.body,
    accepts: [undefined, {}, { force: true }],
    refuses: [{ force: 'true' }],
  },
  {
    name: 'a revocation',
    schema: mfa.revokeOtp.body,
    accepts: [undefined, {}, { code: '123456' }],
    refuses: [{ code: '12345' }],
  },
  {
    name: 'a whitelist',
    schema: ipWhitelist.replaceIpWhitelist.body,
    accepts: [addresses(), addresses('203.0.113.7', '203.0.113.0/24', '2001:db8::/32', '::1', '::ffff:1.2.3.4')],
    refuses: [
      ...['1.2.3.4/33', '::/129', '1.2.3', 'localhost', '', '1.2.3.4/08', 'fe80::1%eth0'].map((item) =>
        addresses(item),
      ),
      addresses('::1', '::1'),
      addresses(...Array.from({ length: 257 }, (_, i) => `10.0.${i >> 8}.${i & 255}`)),
    ],
  },
  {
    name: 'a session limit',
    schema: sessions.configureSessions.body,
    accepts: [{ maxConcurrentSessions: 1 }, { maxConcurrentSessions: 100 }],
    refuses: [0, -1, 101, 1e9, '2', 1.5, null].map((maxConcurrentSessions) => ({ maxConcurrentSessions })),
  },
  {
    name: 'a list with an interval',
    schema: sessions.listLoginHistory.query,
    accepts: [{ startTime: '0001-01-01T00:00:00Z' }, { endTime: '9999-12-31T23:59:59.999Z' }],
    refuses: [
      ...['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+00:01', '2026-02-30T00:00:00Z'].map((startTime) => ({
        startTime,
      })),
      { endTime: '9999-12-31T23:59:59-00:01' },
    ],
  },
  {
    name: 'a password reset request',
    schema: password.forgotPassword.body,
    accepts: [
      'a@demo.test',
      `${'a'.repeat(64)}@demo.test`,
      "!#$%&'*+/=?^_`{|}~-.r&d@demo.test",
      'a@xn--e1afmkfd.xn--p1ai',
      `a@x-1.${'d'.repeat(63)}.test`,
    ].map((email) => ({ email, turnstileToken: '' })),
    refuses: [
      {},
      { email: 'a@demo.test' },
      ...[
        'nobody',
        'a@localhost',
        'a@demo.1',
        'a@-demo.test',
        'a@demo-.test',
        `a@${'d'.repeat(64)}.test`,
        '"a"@demo.test',
        'a(b)@demo.test',
        'a b@demo.test',
        'ä@demo.test',
        'a@b@demo.test',
        `${'a'.repeat(65)}@demo.test`,
        `a@${'demo.'.repeat(51)}test`,
      ].map((email) => ({
        email,
        turnstileToken: '',
      })),
    ],
  },
  {
    name: 'a password, in characters of NFKC',
    schema: password.resetPassword.body,
    accepts: ['x'.repeat(8), '\ufb03'.repeat(3), 'x'.repeat(256), '\u{1f511}'.repeat(256), 'e\u0301'.repeat(256)].map(
      (newPassword) => ({
        token: 'A'.repeat(43),
        newPassword,
      }),
    ),
    refuses: [
      '',
      'x'.repeat(7),
      'e\u0301'.repeat(7),
      'x'.repeat(257),
      '\u{1f511}'.repeat(257),
      'x'.repeat(1_000_000),
    ].map((newPassword) => ({
      token: 'A'.repeat(43),
      newPassword,
    })),
  },
  {
    name: 'a profile update',
    schema: profile.updateProfile.body,
    accepts: [
      { accountName: 'Ada' },
      ...['UTC', 'Asia/Kolkata', 'Asia/Calcutta', 'Etc/GMT+5', 'America/Port-au-Prince', 'EST5EDT', 'GB-Eire'].map(
        (defaultTimezone) => ({ defaultTimezone }),
      ),
      {
        defaultTimezone: 'Asia/Ho_Chi_Minh',
        defaultCountry: 'VN',
        defaultLanguage: 'zh-Hant',
        accountPhone: '+84 24 1234',
      },
    ],
    refuses: [
      {},
      { accountName: ' ' },
      { defaultTimezone: 'Mars/Base' },
      { defaultTimezone: '+01:00' },
      ...['europe/berlin', 'Europe/BERLIN', 'utc', 'asia/kolkata'].map((defaultTimezone) => ({ defaultTimezone })),
      // Only Temporal knows the spelling of an alias. Node 24 lacks it.
      ...(typeof Temporal === 'undefined' ? [] : ['Asia/KOLKATA', 'Europe/KYIV']).map((defaultTimezone) => ({
        defaultTimezone,
      })),
      ...['a\u0000b', 'a\u007fb', 'a\u0085b', 'a\u009b31mb'].map((accountName) => ({ accountName })),
      { defaultCountry: 'de' },
    ],
  },
  {
    name: 'extra data',
    schema: workspaces.updateCurrentWorkspace.body,
    accepts: [{}, { extraData: null }, { extraData: { colour: 'blue' } }],
    refuses: [{ extraData: { _colour: 'blue' } }, { extraData: { colour: { deep: 1 } } }],
  },
  {
    name: 'an API key',
    schema: apiKeys.createApiKey.body,
    accepts: [{ apiKeyName: 'ci', permissionCodes: ['wallet:read', 'transfer:create'], ipAllowlist: ['10.0.0.0/8'] }],
    refuses: [[], ['wallet:read', 'wallet:read']].map((permissionCodes) => ({
      apiKeyName: 'ci',
      permissionCodes,
    })),
  },
  {
    name: 'an exchange quote',
    schema: exchanges.quoteExchange.body,
    accepts: [quote, { ...quote, amount: '500', fixedSide: 'TARGET' }],
    refuses: [
      { ...quote, fixedSide: 'TARGET' },
      { ...quote, targetCurrency: 'USD' },
      { ...quote, targetCurrency: 'XXX' },
      ...['0', '-1', '1e3', '0x10', '01', 'NaN', '１', '12.505', 12.5, ''].map((amount) => ({ ...quote, amount })),
    ],
  },
  {
    name: 'a withdrawal channel',
    schema: channels.createWithdrawalChannel.body,
    accepts: [
      { ...bank, bankCode: 'COBADEFF' },
      // As pasted from a web page, typed with an East Asian keyboard, and with a leading blank.
      ...['1 2-3.4:', '1\u00a02\u200b3\u00ad4', '１２３４', '\ufeff1234\u2060', ' 12\u201034'].map((accountNumber) => ({
        ...bank,
        bankCode: 'COBADEFF',
        accountNumber,
      })),
      { ...bank, channelType: 'CRYPTO', currency: 'BTC', network: 'BITCOIN' },
    ],
    refuses: [
      bank,
      { ...bank, bankCode: 'X', network: 'Y' },
      { ...bank, channelType: 'CARD', bankCode: 'X' },
      // Separators do not count towards the length.
      ...['123', '1 2 3', '1...', '1-:.', '1\u200b2\u00a03', '12!34', '12_34', 'кот1234'].map((accountNumber) => ({
        ...bank,
        bankCode: 'X',
        accountNumber,
      })),
    ],
  },
  {
    name: 'an export',
    schema: schemaOf('exports.create'),
    accepts: [
      { exportType: 'LOGIN_HISTORY', format: 'CSV' },
      { exportType: 'FLOWS', format: 'XLSX', filters: { walletId: id, startTime: '2026-01-01T00:00:00+02:00' } },
    ],
    refuses: [
      { exportType: 'LOGIN_HISTORY', format: 'CSV', filters: { walletId: id } },
      { exportType: 'EVERYTHING', format: 'CSV' },
      { exportType: 'RECHARGES', format: 'CSV', filters: { transferStatus: 'COMPLETED' } },
      { exportType: 'EXCHANGES', format: 'CSV', filters: { walletId: id } },
      { exportType: 'TRANSFERS', format: 'CSV', filters: { transferStatus: 'RETURNED' } },
      {
        exportType: 'FLOWS',
        format: 'CSV',
        filters: { startTime: '2026-01-01T00:00:00Z', endTime: '2026-01-01T00:00:00+02:00' },
      },
    ],
  },
]

it('an id in upper case is parsed as lower case', () => {
  const body = { userBizId: id.toUpperCase(), roleBizId: id }
  expect(roles.changeMemberRole.body.parse(body)).toEqual({ userBizId: id, roleBizId: id })
  const target = (targetId: string) => operators.listAuditLog.query.parse({ targetId }).targetId
  expect([target(id.toUpperCase()), target('USD/EUR')]).toEqual([id, 'USD/EUR'])
})

it('text is normalized to NFC', () => {
  const parse = (roleName: string) => roles.createRole.body.parse({ roleName, permissionCodes: [] })
  expect(parse('Zoe\u0308')).toEqual(parse('Zo\u00eb'))
})

it('text without a visible character is refused; joiners and direction marks between letters are accepted', () => {
  const isValidName = (accountName: string) => profile.updateProfile.body.safeParse({ accountName }).success
  const invisible = ['\u200b', '\u2060\u200d', '\u202e', '\u00ad', '\u3164', '\u2800 \u2800', '\ufe0f', '\u{e0041}']
  for (const name of invisible) expect(isValidName(name), JSON.stringify(name)).toBe(false)
  for (const name of ['می\u200cخواهم', '👩\u200d💻', '\u200fשלום', '-']) expect(isValidName(name), name).toBe(true)
  const suspend = operators.suspendAccount.body
  expect([suspend.safeParse({ reason: '\u200b' }).success, suspend.safeParse({ reason: '…' }).success]).toEqual([
    false,
    true,
  ])
  const isValidDescription = (description: string) =>
    roles.createRole.body.safeParse({ roleName: 'Clerk', description, permissionCodes: [] }).success
  expect([isValidDescription(''), isValidDescription(' '), isValidDescription('\u200b')]).toEqual([true, true, false])
})

const oneLine = [
  ...['workspaceName', 'accountName', 'apiKeyName', 'roleName', 'accountHolderName'],
  ...['externalReference', 'clientReference'],
]

function patternsIn(node: unknown): { name: string; pattern: string }[] {
  return objectsIn(node).flatMap(({ properties }) =>
    Object.entries(properties ?? {}).flatMap(([name, { pattern, anyOf }]) =>
      oneLine.includes(name) ? [{ name, pattern: String(pattern ?? anyOf?.[0].pattern) }] : [],
    ),
  )
}

it('text on one line refuses characters that are invisible or turn the text, and keeps joiners of scripts', () => {
  const name = line(64)
  for (const character of ['\u202e', '\u200b', '\u2066', '\ufeff', '\u00ad', '\u2028', '\u3164', '\u{e0041}'])
    expect(name.safeParse(`Trea${character}surer`).success, escape(character)).toBe(false)
  for (const disguised of ['Trea\u200csurer', 'Treasurer\ufe0f', '\u200fTreasurer'])
    expect(name.safeParse(disguised).success).toBe(false)
  for (const kept of ['می\u200cخواهم', 'क्\u200dष', '👩\u200d💻', '❤\ufe0f', 'Zoë Müller-日本'])
    expect(name.parse(kept)).toBe(kept.normalize('NFC'))
})

it('text on one line refuses control characters in every operation', () => {
  const found = schemas.flatMap(({ id, schema }) =>
    patternsIn(z.toJSONSchema(schema, { io: 'input' })).map((each) => ({ id, ...each })),
  )
  expect(new Set(found.map(({ name }) => name))).toEqual(new Set(oneLine))
  for (const { id, name, pattern } of found) {
    expect('Ada Lovelace', `${id} ${name}`).toMatch(new RegExp(pattern, 'u'))
    for (const control of ['\n', '\r', '\t', '\u0000', '\u001b', '\u007f', '\u0085'])
      expect(`a${control}b`, `${id} ${name}`).not.toMatch(new RegExp(pattern, 'u'))
  }
})

describe.each(cases)('$name', ({ schema, accepts, refuses }) => {
  it('accepts valid values only', () => {
    for (const body of accepts) expect(schema.safeParse(body).error?.issues, JSON.stringify(body)).toBeUndefined()
    for (const body of refuses) expect(schema.safeParse(body).success, JSON.stringify(body)).toBe(false)
  })
})

const anId = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'
const otherId = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a11'
const transferBody = { sourceWalletBizId: anId, targetWalletBizId: otherId, amount: '1.00', currency: 'USD' }
/** Optional texts of commands, with the other fields. */
const optionalTexts = [
  ['transfers.create', 'remark', transferBody],
  ['transfers.create', 'clientReference', transferBody],
  ['withdrawals.create', 'remark', { walletBizId: anId, withdrawalChannelBizId: otherId, amount: '1.00' }],
  ['withdrawals.complete', 'externalReference', {}],
  ['recharges.confirm', 'externalReference', {}],
  ['invitations.create', 'message', { email: 'someone@people.test', roleBizId: anId }],
  ['wallets.create', 'walletName', { currency: 'USD' }],
  ['roles.create', 'description', { roleName: 'Auditor', permissionCodes: [] }],
  ['registration.complete', 'accountPhone', { sessionId: 'any', accountName: 'New' }],
] as const

describe.each(optionalTexts)('%s: %s', (operation, field, without) => {
  const read = (more: object) => schemaOf(operation).parse({ ...without, ...more })

  it.each([null, '', '  '])('%j is none', (value) => {
    expect(read({ [field]: value })).toEqual(read({}))
  })

  it.each([1, [], '\u0000'])('%j is refused', (value) => {
    expect(schemaOf(operation).safeParse({ ...without, [field]: value }).success).toBe(false)
  })
})

const minute = [
  ['2026-01-01T00:00Z', '2026-01-01T00:00:00.000Z'],
  ['2026-01-01T00:00+02:00', '2025-12-31T22:00:00.000Z'],
] as const

it.each(minute)('an instant without seconds: %s', (text, expected) => {
  expect(new Date(instant.parse(text)).toISOString()).toBe(expected)
  const lists = schemas.filter(({ schema }) => 'startTime' in fieldsOf(schema))
  expect(lists.length).toBeGreaterThan(5)
  for (const { id, schema } of lists)
    expect(schema.safeParse({ startTime: text, endTime: text }).success, id).toBe(true)
})

it.each(['2026-01-01T00Z', '2026-01-01T00:00', '2026-01-01 00:00Z', '2026-01-01T24:00Z', '2026-02-30T00:00Z'])(
  'refuses the instant %s',
  (text) => expect(instant.safeParse(text).success).toBe(false),
)
