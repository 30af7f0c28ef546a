import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { databaseTarget, placesOf, storeName } from '../../src/compose/store.ts'
import { loadSettings } from '../harness/settings.ts'

test.each([
  ['postgres://portico:hidden@db.example:6432/portico?sslmode=verify-full', 'postgresql db.example:6432/portico'],
  ['postgresql://db.example/portico', 'postgresql db.example:5432/portico'],
  ['postgres://u:hidden@[::1]:5433/x', 'postgresql [::1]:5433/x'],
  ['postgres:///x?host=/var/run/postgresql&port=5433', 'postgresql /var/run/postgresql:5433/x'],
  ['postgres:///x?password=hidden', 'postgresql localhost:5432/x'],
])('storeName: %s without credentials', (DATABASE_URL, name) => {
  expect(storeName(loadSettings({ DATABASE_URL }))).toBe(name)
})

test('storeName: the directory of the embedded store', () => {
  expect(storeName(loadSettings({ PORTICO_DATA_DIR: 'some/data' }))).toBe(`embedded ${resolve('some/data')}`)
})

test.each([
  ['development', false],
  ['production', true],
] as const)('databaseTarget: the embedded store of %s is durable: %s', (profile, isDurable) => {
  const settings = { ...loadSettings({}), profile }
  expect(databaseTarget(settings, () => undefined)).toMatchObject({ kind: 'embedded', isDurable })
})

test('placesOf: store, Redis, mail and domains without credentials', () => {
  const urls = { REDIS_URL: 'redis://me:hidden@cache:6379', SMTP_URL: 'smtp://me:hidden@mail:587' }
  expect(placesOf(loadSettings({ PORTICO_DATA_DIR: '/data', ...urls }))).toEqual({
    store: 'embedded /data',
    redis: 'cache:6379',
    mail: 'mail:587',
    domains: { default: 'in-process' },
  })
})
