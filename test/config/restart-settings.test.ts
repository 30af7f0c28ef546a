import { expect, test } from 'vitest'
import { settingsThatNeedRestart } from '../../src/config/index.ts'
import { productionKey } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const { load } = configurationFile()
const address = { limit: 7, windowMs: 60_000 }

test.each<[string, object]>([
  ['backends', { backends: { constants: { url: 'http://127.0.0.1:9' } } }],
  ['limits.scale', { limits: { scale: 3 } }],
  ['limits.groups.money.account.limit', { limits: { groups: { money: { account: address } } } }],
  ['portals.CONSUMER.limits', { portals: { CONSUMER: { limits: { address } } } }],
])('a reload applies %s', (_name, changed) => {
  expect(settingsThatNeedRestart(load({}), load(changed))).toEqual([])
})

test.each<[string[], object]>([
  [['portals.CONSUMER.accessCodes'], { portals: { CONSUMER: { accessCodes: ['a'.repeat(64)] } } }],
  [['listen.port (PORT)', 'log.level (LOG_LEVEL)'], { listen: { port: 1 }, log: { level: 'debug' } }],
  [['turnstile.secret', 'turnstile.siteKey'], { turnstile: { secret: 'hidden', siteKey: 'key' } }],
  [
    ['money.exchange.spread', 'money.currencies'],
    { money: { exchange: { spread: '0.01' }, currencies: ['USD', 'EUR', 'JPY', 'BHD', 'BTC', 'ETH', 'GBP'] } },
  ],
  [['domains.sandbox'], { domains: { sandbox: 'off' } }],
  [
    [
      'files.storage.kind',
      'files.storage.bucket',
      'files.storage.region',
      'files.storage.forcePathStyle',
      'files.storage.prefix',
      'files.storage.shared',
    ],
    { files: { storage: { kind: 's3', bucket: 'portico' } } },
  ],
])('only a restart applies %j', (names, changed) => {
  expect(settingsThatNeedRestart(load({}), load(changed)).sort()).toEqual(names.sort())
})

test('a changed secret is named, without its value', () => {
  const [running, changed] = ['one', 'two'].map((secret) => load({ turnstile: { secret, siteKey: 'key' } }))
  if (!running || !changed) expect.fail()
  expect(settingsThatNeedRestart(running, changed)).toEqual(['turnstile.secret'])
})

test('values of variables and of the files that they name are named by the variable', () => {
  const variables = {
    PORTICO_SECRET_KEY: productionKey,
    PORTICO_SECRET_KEY_PREVIOUS: Buffer.alloc(32, 'previous').toString('base64'),
    DATABASE_URL: 'postgres://127.0.0.1/portico',
    PORTICO_DATA_DIR: '/elsewhere',
  }
  expect(settingsThatNeedRestart(load({}), load({}, variables)).sort()).toEqual(Object.keys(variables).sort())
})
