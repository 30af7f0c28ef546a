import { describe, expect, test } from 'vitest'
import { additionalPortals } from '../../src/compose/portals/additional.ts'
import { ConfigurationError, compareWithProduction, replaceLimits } from '../../src/config/index.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import { addMerchant } from '../harness/merchant.ts'
import { testSettings } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const { errorsOf, load } = configurationFile()
const digest = (letter: string) => letter.repeat(64)
const merchant = {
  prefix: 'merchant',
  code: 10010111,
  accessCodes: [digest('a')],
  edge: { kind: 'direct', trustedProxies: [] },
}
const shop = { ...merchant, prefix: 'shop', code: 10010112, accessCodes: [digest('b')] }

describe('an additional portal', () => {
  test('has the safe defaults of CONSUMER, and nothing that the file sets for CONSUMER', () => {
    const { portals } = load({
      portals: { CONSUMER: { hosts: ['portal.example'], origins: ['https://portal.example'] }, MERCHANT: merchant },
    })
    expect(portals.CONSUMER.selfRegistration).toBe('open')
    expect(portals.MERCHANT).toMatchObject({
      ...{ selfRegistration: 'closed', domains: 'all', app: null, hosts: [], origins: [] },
      mfa: { mailCodes: 'untilAuthenticator', required: { passkey: 'none' } },
    })
  })

  test.each(['prefix', 'code', 'accessCodes', 'edge'])('needs %s', (name) => {
    const errors = errorsOf({ portals: { MERCHANT: { ...merchant, [name]: undefined } } })
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatch(new RegExp(`^portals\\.MERCHANT\\.${name}: `))
  })

  test.each([
    ['a prefix of several segments', { prefix: 'a/b' }, 'prefix: one segment of a path, such as merchant'],
    ['a prefix in capital letters', { prefix: 'Merchant' }, 'prefix: one segment of a path, such as merchant'],
    ['the prefix of CONSUMER', { prefix: 'consumer' }, 'prefix: is the prefix of another chain; use another one'],
    ['the prefix of the self chain', { prefix: 'users' }, 'prefix: is the prefix of another chain; use another one'],
    ['the code of CONSUMER', { code: 10010104 }, 'code: must differ from that of CONSUMER'],
    [
      'an application without hosts',
      { app: { accessCode: 'x' } },
      'app: needs portals.MERCHANT.hosts, because /portal of all other hosts belongs to CONSUMER',
    ],
    [
      'an application with a list of domains',
      { app: { accessCode: 'x' }, hosts: ['shop.example'], domains: ['wallets'] },
      'app: needs portals.MERCHANT.domains: all, because the application uses all of them',
    ],
    [
      'registration without mailed codes',
      { selfRegistration: 'open', mfa: { mailCodes: 'never' } },
      'mfa.mailCodes: never needs portals.MERCHANT.selfRegistration: closed',
    ],
    [
      'a passkey without passkeys',
      { mfa: { required: { passkey: 'all' } } },
      'mfa.required.passkey: needs portals.MERCHANT.passkeys',
    ],
  ])('is refused with %s', (_, changed, error) => {
    expect(errorsOf({ portals: { MERCHANT: { ...merchant, ...changed } } })).toEqual([`portals.MERCHANT.${error}`])
  })

  test.each(['merchant', 'M', '1A', 'A-B'])('is refused with the name %s', (name) => {
    expect(errorsOf({ portals: { [name]: merchant } })).toEqual([
      expect.stringMatching(`^portals.${name}: the name of a portal`),
    ])
  })

  test('differs from each other portal', () => {
    const errors = (changed: object) => errorsOf({ portals: { MERCHANT: merchant, SHOP: { ...shop, ...changed } } })
    expect(errors({})).toEqual([])
    expect(errors({ prefix: 'merchant' })).toEqual(['portals.SHOP.prefix: must differ from that of MERCHANT'])
    expect(errors({ code: merchant.code })).toEqual(['portals.SHOP.code: must differ from that of MERCHANT'])
    expect(errors({ accessCodes: merchant.accessCodes })).toEqual([
      'portals: access codes that differ between the portals',
    ])
    const hosts = { hosts: ['shop.example'] }
    expect(errorsOf({ portals: { MERCHANT: { ...merchant, ...hosts }, SHOP: { ...shop, ...hosts } } })).toEqual([
      'portals.SHOP.hosts: shop.example is also in portals.MERCHANT.hosts; remove one of them',
    ])
  })

  test('there are at most eight', () => {
    const many = Array.from({ length: 9 }, (_, index) => [
      `PORTAL_${index}`,
      { ...merchant, prefix: `p${index}`, code: 20_000_000 + index, accessCodes: [digest(String(index))] },
    ])
    expect(errorsOf({ portals: Object.fromEntries(many) })).toEqual([
      'portals: at most 8 additional portals; remove some',
    ])
  })

  test('CONSUMER and SYSTEM have no prefix', () => {
    expect(errorsOf({ portals: { CONSUMER: { prefix: 'people' } } })).toEqual([
      'portals.CONSUMER: Unrecognized key: "prefix"; remove it or correct its name',
    ])
  })

  test('reference.portal names a portal of the deployment', () => {
    expect(errorsOf({ reference: { portal: 'MERCHANT' }, portals: { MERCHANT: merchant } })).toEqual([])
    expect(errorsOf({ reference: { portal: 'MERCHANT' } })).toEqual([
      'reference.portal: must be null or one of CONSUMER, SYSTEM',
    ])
  })

  test('production compares its mailed codes with the default of CONSUMER', () => {
    const settings = load({ portals: { MERCHANT: { ...merchant, mfa: { mailCodes: 'always' } }, SHOP: shop } })
    const rules = compareWithProduction(settings, [], [])
    const weakened = rules.filter(({ setting, isWeakened }) => /MERCHANT|SHOP/.test(setting) && isWeakened)
    expect(weakened.map(({ setting, standard }) => [setting, standard])).toEqual([
      ['portals.MERCHANT.mfa.mailCodes', 'untilAuthenticator'],
    ])
  })

  test('a reload replaces its limits and keeps its other settings', () => {
    const running = testSettings({})
    addMerchant(running)
    const changed = testSettings({})
    addMerchant(changed, { limits: { address: { limit: 5, windowMs: 1_000 } }, prefix: 'shops' })
    replaceLimits(running, changed)
    expect(running.portals.MERCHANT).toMatchObject({ prefix: 'merchant', limits: { address: { limit: 5 } } })
    replaceLimits(running, testSettings({}))
    expect(running.portals.MERCHANT?.limits).toBeUndefined()
  })
})

describe('an additional portal and the operations', () => {
  const errors = (own: object, catalogue = bankingCatalogue) => {
    const settings = testSettings({})
    addMerchant(settings, own)
    try {
      additionalPortals(settings, catalogue)
      return []
    } catch (error) {
      if (error instanceof ConfigurationError) return error.errors
      throw error
    }
  }

  test('the prefix differs from the first segment of each shared operation', () => {
    expect(errors({ prefix: 'secure-channel' })).toEqual([
      expect.stringMatching(
        /^portals\.MERCHANT\.prefix: is the first segment of \w+ \/web\/v1\/secure-channel\/[\w-]+ \(secureChannel\.\w+\); use another prefix$/,
      ),
    ])
    const [first] = bankingCatalogue.operations
    if (!first) throw new Error('no operation')
    const anything = { ...first, chains: ['shared'] as const, path: '/{anything}' }
    const catalogue = { ...bankingCatalogue, operations: [anything] }
    expect(errors({ prefix: 'free' }, { ...catalogue, operations: [anything] })).toHaveLength(1)
  })

  test('its domains exist', () => {
    expect(errors({ domains: ['wallets', 'passThrough', 'transfer'] })).toEqual([
      'portals.MERCHANT.domains: no domain has the name transfer; correct it or remove it',
    ])
  })
})
