import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Domain, domain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { loadAll, parseSettings } from '../../src/compose/extensions.ts'
import { ConfigurationError, compareWithProduction, loadConfiguration } from '../../src/config/index.ts'
import { configurationFile } from './configuration-file.ts'

const { write } = configurationFile()

function own(name: string, fields: Partial<Domain>): Domain {
  return {
    ...domain({ name, summary: 'A domain.', operations: {}, create: () => ({ handlers: {} }) }),
    ...fields,
  }
}

const amount = z.strictObject({ amount: z.int().min(1) })
const loans = own('loans', { settings: amount, settingsKey: 'credit', defaults: { amount: 5 } })
const leasing = own('leasing', {
  settings: z.strictObject({ months: z.int(), terms: z.strictObject({ fee: z.int(), days: z.int() }) }),
  settingsKey: 'credit',
  defaults: { months: 12, terms: { fee: 1, days: 30 } },
})

function loaded(domains: readonly Domain[]) {
  return domains.map((each) => ({ ...each, source: each.name, isOurs: true }))
}

function load(settings: object, domains: readonly Domain[]) {
  const configuration = loadConfiguration({ PORTICO_CONFIG: write(settings) }, domains)
  return Object.fromEntries(parseSettings(loaded(domains), configuration))
}

function errorsOf(settings: object, domains: readonly Domain[]): string[] {
  try {
    load(settings, domains)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.errors
    throw error
  }
}

describe('two domains with one place', () => {
  test('each gets its own settings, and the configuration overrides defaults key by key', () => {
    expect(load({ credit: { amount: 7, terms: { fee: 2 } } }, [loans, leasing])).toEqual({
      loans: { amount: 7 },
      leasing: { months: 12, terms: { fee: 2, days: 30 } },
    })
  })

  test('null in a file is the default', () => {
    expect(load({ credit: { amount: null } }, [loans]).loans).toEqual({ amount: 5 })
  })

  test('an unknown key is refused by its place', () => {
    expect(errorsOf({ credit: { colour: 'red' } }, [loans, leasing])).toEqual([
      'credit: Unrecognized key: "colour"; remove it or correct its name',
    ])
  })

  test('a key of a domain that the gateway does not have is unknown', () => {
    expect(errorsOf({ money: { exchange: {} } }, [])).toEqual([
      'money: Unrecognized key: "exchange"; remove it or correct its name',
    ])
  })

  test('the errors of every domain and of the gateway are reported in one run', () => {
    const settings = { credit: { amount: 0, months: 'x' }, jobs: { failedRetentionMs: 0 }, exports: { lifeMs: 5 } }
    expect(errorsOf(settings, [...bankingDomains, loans, leasing])).toEqual([
      expect.stringMatching(/^jobs\.failedRetentionMs: Too small/),
      expect.stringMatching(/^exports\.lifeMs: Too small/),
      expect.stringMatching(/^credit\.amount: Too small/),
      expect.stringMatching(/^credit\.months: Invalid input/),
    ])
  })
})

describe('a setting that two declare', () => {
  const rival = (settingsKey: string, field: string, shape: z.ZodType = z.int().default(1)) =>
    own('rival', { settings: z.strictObject({ [field]: shape }), settingsKey })

  test.each<[string, Domain[], string]>([
    [
      'two domains',
      [loans, rival('credit', 'amount')],
      'credit.amount: the domain rival and the domain loans declare it; rename one',
    ],
    [
      'a field and a section',
      [loans, rival('credit.amount', 'x')],
      'credit.amount: the domain rival and the domain loans declare it; rename one',
    ],
    [
      'a section and a field of an object',
      [rival('credit.terms', 'fee'), leasing],
      'credit.terms: the domain leasing and the domain rival declare it; rename one',
    ],
    [
      'a domain and the gateway',
      [rival('money', 'currencies')],
      'money.currencies: the domain rival and the gateway declare it; rename one',
    ],
    [
      'a domain below a value',
      [rival('publicUrl', 'x')],
      'publicUrl: the domain rival and the gateway declare it; rename one',
    ],
    [
      'a domain below domains',
      [rival('domains.x', 'y')],
      'domains: the domain rival and the gateway declare it; rename one',
    ],
  ])('%s: the error names both', (_name, domains, error) => {
    expect(errorsOf({}, domains)).toContain(error)
  })

  test('settingsKey needs an object schema', () => {
    expect(errorsOf({}, [own('rival', { settings: z.int(), settingsKey: 'x' })])).toEqual([
      'settingsKey of the domain rival: needs settings that are a z.strictObject',
    ])
  })
})

describe('defaults', () => {
  const defaults = {
    defaults: { amount: 5 },
    profileDefaults: { development: { amount: 9 }, production: { amount: 3 } },
  }
  const placed = own('loans', { settings: amount, settingsKey: 'credit', ...defaults })
  const unplaced = own('loans', { settings: amount, ...defaults })

  test('the profile overrides the defaults, and the configuration overrides both', () => {
    expect([load({}, [placed]), load({}, [unplaced])]).toEqual([{ loans: { amount: 9 } }, { loans: { amount: 9 } }])
    expect(load({ credit: { amount: 2 } }, [placed]).loans).toEqual({ amount: 2 })
    expect(load({ domains: { loans: { amount: 2 } } }, [unplaced]).loans).toEqual({ amount: 2 })
  })

  test('an invalid setting of a domain without settingsKey: the error names it', () => {
    expect(errorsOf({ domains: { loans: { amount: 0 } } }, [unplaced])).toEqual([
      expect.stringMatching(/^domains\.loans\.amount: Too small/),
    ])
  })
})

describe('checkSettings', () => {
  const settings = z.strictObject({ currency: z.string() })
  const checked = own('loans', {
    settings,
    defaults: { currency: 'USD' },
    checkSettings: (given, { profile, currencies }) =>
      currencies.includes(settings.parse(given).currency) ? [] : [`credit.currency: not a currency of ${profile}`],
  })
  const credit = { ...checked, settingsKey: 'credit' }

  test('gets the profile and the currencies, and reports its errors with those of the schema', () => {
    expect(errorsOf({ credit: { currency: 'GBP' }, jobs: { failedRetentionMs: 0 } }, [credit])).toEqual([
      expect.stringMatching(/^jobs\.failedRetentionMs: /),
      'credit.currency: not a currency of development',
    ])
    expect(errorsOf({ domains: { loans: { currency: 'GBP' } } }, [checked])).toHaveLength(1)
    expect(errorsOf({}, [credit])).toEqual([])
  })
})

test('productionRules: a rule of a domain is compared with its default of production', () => {
  const ruled = own('loans', {
    settings: z.strictObject({ limit: z.union([z.int(), z.literal('off')]), hold: z.int(), isChecked: z.boolean() }),
    settingsKey: 'credit',
    defaults: { limit: 5, hold: 0, isChecked: true },
    profileDefaults: { production: { hold: 3 } },
    productionRules: { limit: 'maximum', hold: 'minimum', isChecked: 'fixed' },
  })
  const weakened = (credit: object) =>
    compareWithProduction(loadConfiguration({ PORTICO_CONFIG: write({ credit }) }, [ruled]), [ruled], [])
      .filter(({ isWeakened, setting }) => isWeakened && setting.startsWith('credit.'))
      .map(({ setting }) => setting)
  expect(weakened({ hold: 3 })).toEqual([])
  expect(weakened({ limit: 6, hold: 2, isChecked: false })).toEqual(['credit.limit', 'credit.hold', 'credit.isChecked'])
  expect(weakened({ limit: 'off', hold: 4 })).toEqual(['credit.limit'])
})

test('the check of a domain accepts every field about settings, and refuses other values', async () => {
  const none = { extensions: [], operations: [], domains: {} }
  const full = own('loans', {
    settings: amount,
    settingsKey: 'credit.loans',
    defaults: { amount: 5 },
    profileDefaults: { development: { amount: 9 } },
    checkSettings: () => [],
    productionRules: { amount: 'maximum' },
  })
  expect((await loadAll([full], none)).errors).toEqual([])
  expect((await loadAll([{ ...full, settingsKey: 'credit loans' }], none)).errors).toEqual([
    'domains[0] of portico(): settingsKey: must be a name such as money.loans',
  ])
})

test('a domain that is off: its settings stay accepted, and unknown ones are refused', () => {
  const off = { domains: { exchanges: 'off' } }
  expect(errorsOf({ ...off, money: { exchange: { spread: '0.01' } } }, bankingDomains)).toEqual([])
  expect(errorsOf({ ...off, money: { exchange: { colour: 'red' } } }, bankingDomains)).toEqual([
    'money.exchange: Unrecognized key: "colour"; remove it or correct its name',
  ])
})
