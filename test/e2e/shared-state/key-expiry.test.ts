import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { days } from '../../../src/kernel/index.ts'
import { data, newcomer } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'

const dayMs = days(1)

describe('API keys that expire soon', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({ pace: { everyMs: { 'apiKeys.warnOfExpiry': 300 } } })
  })
  afterAll(() => portico?.stop())

  const expiring = async () => {
    const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
    const counts = text.matchAll(/^portico_api_keys_expiring\{days="(\d+)"\} (\d+)$/gm)
    return Object.fromEntries([...counts].map(([, within, count]) => [within, Number(count)]))
  }

  test('apiKeys.warnOfExpiry: the creator gets one mail, and lists and metrics show the key', async () => {
    const { by, email, token } = await newcomer(portico)
    const workspace = { 'x-workspace-id': data(await by.get('/workspaces/current', token)).bizId }
    const create = async (apiKeyName: string, lifeMs: number) => {
      const expiresAt = new Date(Date.now() + lifeMs).toISOString()
      const body = { apiKeyName, permissionCodes: ['wallet:read'], expiresAt }
      return data(await by.post('/api-keys', body, token, workspace))
    }
    const before = (await expiring())['30'] ?? 0
    const { keyPrefix } = await create('Till', 30 * dayMs + 2_000)
    await create('Short', 5 * dayMs)
    await create('Later', 90 * dayMs)
    const warnings = async () =>
      (await portico.mailsTo(email)).filter(({ template }) => template === 'apiKeys.key-expiry')
    await expect.poll(warnings, { timeout: 30_000 }).toHaveLength(1)
    expect((await warnings())[0]?.text).toContain(`Till (${keyPrefix})`)
    const { items } = data(await by.get('/api-keys', token, workspace))
    const soon = items.map((key: { apiKeyName: string; expiresSoon: boolean }) => [key.apiKeyName, key.expiresSoon])
    expect(Object.fromEntries(soon)).toEqual({ Till: true, Short: true, Later: false })
    await expect.poll(expiring, { timeout: 15_000 }).toEqual({ 1: 0, 7: 1, 30: before + 2 })
    await pause(1_500)
    expect(await warnings()).toHaveLength(1)
  })
})
