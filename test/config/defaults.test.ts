import { expect, test } from 'vitest'
import { loadSettings } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const { load } = configurationFile()

const settings = loadSettings({})
const minute = 60_000
const hour = 60 * minute

/** Deliberately not derived from the configuration. */
test('the default limits are as documented', () => {
  const { address, groups, scale } = settings.limits
  expect({ scale, address }).toEqual({ scale: 1, address: { limit: 1_200, windowMs: minute } })
  expect(groups).toMatchObject({
    login: { address: { limit: 20, windowMs: minute } },
    mfaSend: { account: { limit: 5, windowMs: 10 * minute } },
    forgot: { account: { limit: 5, windowMs: hour }, address: { limit: 20, windowMs: hour } },
    password: { account: { limit: 10, windowMs: 15 * minute }, address: { limit: 10, windowMs: 15 * minute } },
    registration: { address: { limit: 20, windowMs: hour } },
    passkeyOptions: { address: { limit: 300, windowMs: minute } },
    channelOpen: { address: { limit: 60, windowMs: minute } },
    money: { account: { limit: 120, windowMs: minute } },
    reveal: { account: { limit: 30, windowMs: hour } },
    general: { account: { limit: 600, windowMs: minute } },
  })
  expect(settings.login.failures).toMatchObject({ limit: 10, windowMs: 15 * minute })
})

test('the default sizes and lifetimes are as documented', () => {
  const { requests, tokens, sessions, login, mfa, files } = settings
  expect(requests.maxBodyBytes).toBe(256 * 1_024)
  expect(files.purposes.RECHARGE_PROOF?.maxBytes).toBe(25 * 1_024 * 1_024)
  expect([tokens.accessTtlMs, sessions.absoluteMs, sessions.idleMs]).toEqual([15 * minute, 12 * hour, 30 * minute])
  expect([login.sessionTtlMs, login.codeTtlMs, login.attempts]).toEqual([10 * minute, 10 * minute, 5])
  expect(mfa.stepUpMs).toBe(5 * minute)
})

test('by default no external service is used', () => {
  const { passwords, turnstile, money, tracing } = settings
  expect(passwords.breachCheck.url).toBeNull()
  expect(turnstile.secret).toBeNull()
  expect(money.exchange.provider ?? null).toBeNull()
  expect(tracing.enabled).toBe(false)
})

test('access.apiKeys.maxLifeMs: `off` means no limit, and null means the default', () => {
  const maxLifeOf = (maxLifeMs: unknown) => load({ access: { apiKeys: { maxLifeMs } } }).access.apiKeys.maxLifeMs
  expect([maxLifeOf('off'), maxLifeOf(null), maxLifeOf(60_000)]).toEqual([null, 31_536_000_000, 60_000])
})

test('publicUrl follows the port in development only, and a configuration decides first', () => {
  expect(loadSettings({ PORT: '18123' }).publicUrl).toBe('http://127.0.0.1:18123')
  expect(loadSettings({ PORT: '0' }).publicUrl).toBe('http://127.0.0.1:8080')
})
