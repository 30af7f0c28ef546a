import { afterAll, beforeEach, expect, test } from 'vitest'
import { bankingDomains, exchangeRatesIn } from '../../src/banking/index.ts'
import { reportWeakenedRules } from '../../src/compose/weakened-rules.ts'
import { type Configuration, compareWithProduction } from '../../src/config/index.ts'
import { systemClock, systemIds } from '../../src/platform/runtime/index.ts'
import { configurationFile } from '../config/configuration-file.ts'
import { productionKey } from '../harness/settings.ts'
import { everyStore } from '../ledger/stores.ts'

const { load } = configurationFile()
const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

function codes(digit: string) {
  return { accessCodes: [digit.repeat(64)] }
}
const variables = {
  PORTICO_SECRET_KEY: productionKey,
  DATABASE_URL: 'postgres://db.example/portico?sslmode=verify-full',
  SMTP_URL: 'smtps://mail.example',
}
interface Changes extends Record<string, unknown> {
  portals?: { CONSUMER?: object; SYSTEM?: object }
}
function production({ portals = {}, ...more }: Changes = {}) {
  return load(
    {
      profile: 'production',
      publicUrl: 'https://portal.example',
      mail: { from: 'Portal <no-reply@portal.example>' },
      portals: { CONSUMER: { ...codes('a'), ...portals.CONSUMER }, SYSTEM: { ...codes('b'), ...portals.SYSTEM } },
      ...more,
    },
    variables,
  )
}
function compared(settings: Configuration) {
  return compareWithProduction(settings, bankingDomains, exchangeRatesIn(settings).rates)
}
function weakened(settings: Configuration) {
  return compared(settings)
    .filter(({ isWeakened }) => isWeakened)
    .map(({ setting }) => setting)
}

let warnings: unknown[] = []
beforeEach(() => {
  warnings = []
})
const logger = { warn: (...line: unknown[]) => void warnings.push(line) }

test('production: its defaults weaken no rule, and each rule has a default', () => {
  expect(weakened(production())).toEqual([])
  for (const { standard } of compared(production())) expect(standard).not.toBe('undefined')
})

test.each([
  ['portals.CONSUMER.mfa.mailCodes', { portals: { CONSUMER: { mfa: { mailCodes: 'always' } } } }],
  ['portals.SYSTEM.mfa.mailCodes', { portals: { SYSTEM: { mfa: { mailCodes: 'untilAuthenticator' } } } }],
  ['mfa.binding', { mfa: { binding: 'session' } }],
  ['mfa.stepUpMs', { mfa: { stepUpMs: 300_001 } }],
  ['passwords.minimumScore', { passwords: { minimumScore: 1 } }],
  ['passwords.suspicionWindowMs', { passwords: { suspicionWindowMs: 0 } }],
  ['access.payoutHoldMs', { access: { payoutHoldMs: 0 } }],
  ['access.apiKeys.maxLifeMs', { access: { apiKeys: { maxLifeMs: 'off' } } }],
  ['access.proposals.factorResetDelayMs', { access: { proposals: { factorResetDelayMs: 0 } } }],
  ['money.stepUpAbove.amount', { money: { stepUpAbove: { amount: 'unlimited' } } }],
  ['money.stepUpAbove.amount', { money: { stepUpAbove: { amount: '5000.01' } } }],
  ['money.stepUpAbove.amount', { money: { stepUpAbove: { currency: 'JPY', amount: 'unlimited' } } }],
  ['money.stepUpAbove.amount', { money: { stepUpAbove: { currency: 'BTC', amount: '5000' } } }],
  [
    'money.stepUpAbove.amount',
    {
      money: {
        stepUpAbove: { currency: 'BTC', amount: '0.08' },
        exchange: { rates: [{ source: 'BTC', target: 'USD', rate: '64251' }] },
      },
    },
  ],
  ['money.stepUpAbove.apiKeys', { money: { stepUpAbove: { apiKeys: 'allow' } } }],
  ['money.separationOfDuties.enabled', { money: { separationOfDuties: { enabled: false } } }],
  ['money.exchange.band', { money: { exchange: { band: 'off' } } }],
  ['money.exchange.band', { money: { exchange: { band: '0.06' } } }],
  ['money.recharge.referenceRequired', { money: { recharge: { referenceRequired: false } } }],
])('production: finds that %s is weaker: %j', (setting, settings) => {
  expect(weakened(production(settings))).toContain(setting)
})

test('production: stricter rules are not weaker', () => {
  const strict = {
    portals: { CONSUMER: { mfa: { mailCodes: 'never' } } },
    mfa: { stepUpMs: 60_000 },
    access: { payoutHoldMs: 999_999_999 },
    money: { stepUpAbove: { amount: '1.00' }, exchange: { band: '0.01' } },
  }
  expect(weakened(production(strict))).toEqual([])
  const inverse = { exchange: { rates: [{ source: 'USD', target: 'EUR', rate: '0.5' }] } }
  expect(weakened(production({ money: { ...inverse, stepUpAbove: { currency: 'EUR', amount: '2500' } } }))).toEqual([])
})

test.each(stores)('start: each weakened rule is warned of and leaves an audit entry on $name', async ({ database }) => {
  const start = (settings: Configuration) =>
    reportWeakenedRules(settings, bankingDomains, { database, clock: systemClock, ids: systemIds }, logger)
  const entries = async () =>
    (
      await database
        .selectFrom('audit_log')
        .select(['action', 'detail'])
        .where('action', 'like', 'settings.%')
        .orderBy('at')
        .execute()
    ).map(({ action, detail }) => [action, detail])
  await start(production())
  expect([await entries(), warnings]).toEqual([[], []])

  const weak = production({ access: { payoutHoldMs: 0 }, money: { exchange: { band: 'off' } } })
  await Promise.all([start(weak), start(weak)])
  const hold = { isWeakened: true, value: '0', default: '259200000' }
  const band = { isWeakened: true, value: 'off', default: '0.05' }
  expect(await entries()).toEqual([
    ['settings.access.payoutHoldMs', hold],
    ['settings.money.exchange.band', band],
  ])
  expect(warnings).toHaveLength(4)
  expect(warnings).toContainEqual([
    { setting: 'access.payoutHoldMs', value: '0', default: '259200000' },
    'weaker than the default of production',
  ])

  await start(production({ access: { payoutHoldMs: 0 } }))
  expect((await entries()).slice(2)).toEqual([['settings.money.exchange.band', { isWeakened: false }]])
})

test.each([
  ['open', {}, 1],
  ['approval', {}, 1],
  ['closed', {}, 0],
  ['open', { turnstile: { secret: 'secret' } }, 0],
])('start: registration %s with %j: %i warnings about the CAPTCHA', async (selfRegistration, more, count) => {
  const [store] = stores
  if (!store) throw new Error('no store')
  const settings = production({ portals: { CONSUMER: { selfRegistration } }, ...more })
  await reportWeakenedRules(
    settings,
    bankingDomains,
    { database: store.database, clock: systemClock, ids: systemIds },
    logger,
  )
  expect(warnings.filter((line) => JSON.stringify(line).includes('turnstile.secret'))).toHaveLength(count)
})
