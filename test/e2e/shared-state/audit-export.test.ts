import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../../src/client/index.ts'
import { Secret } from '../../../src/config/values.ts'
import { clientOf, signInAs } from '../../harness/client.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'

interface Batch {
  entries: { sequence: number; hash: string; action: string }[]
}

describe('the export of the audit log', needsStore(), () => {
  let receiver: Receiver
  let portico: Portico
  let operator: Client<'SYSTEM'>
  beforeAll(async () => {
    receiver = await startReceiver()
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    receiver.secrets.push(secret)
    portico = await startPortico({
      adjust: ({ audit }) => {
        audit.export = { to: new Secret(receiver.url), secret: new Secret(secret) }
      },
      pace: { everyMs: { 'audit.seal': 100, 'audit.export': 100 } },
    })
    operator = clientOf(portico, 'SYSTEM')
    await signInAs(portico, operator, 'operator@demo.test')
  })
  afterAll(async () => {
    await portico?.stop()
    await receiver?.close()
  })

  /** First arrivals, because a batch can arrive again. */
  const arrived = () => {
    const all = receiver.received.flatMap(({ event }) => (event as unknown as Batch | undefined)?.entries ?? [])
    return all.filter(({ sequence }, index) => all.findIndex((each) => each.sequence === sequence) === index)
  }

  test('audit.export: signed entries arrive in order, and a receiver that was down gets what it missed', async () => {
    await expect.poll(() => arrived().map(({ action }) => action)).toContain('settings.audit.export')
    receiver.respond = (_request, response) => {
      response.writeHead(503).end()
    }
    const before = receiver.received.length
    await operator.createOperatorApiKey({
      body: {
        apiKeyName: 'SIEM',
        permissionCodes: ['audit:read'],
        expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
      },
    })
    await expect.poll(() => receiver.received.length).toBeGreaterThan(before)
    const lag = async () =>
      /^portico_audit_export_lag_entries (\d+)$/m.exec(
        await (await fetch(`${portico.operationsUrl}/metrics`)).text(),
      )?.[1]
    await expect.poll(lag).not.toBe('0')
    receiver.received.splice(before)
    receiver.respond = (_request, response) => void response.end()
    await expect.poll(() => arrived().map(({ action }) => action)).toContain('apiKeys.createForOperators')
    const entries = arrived()
    expect(entries.map(({ sequence }) => sequence)).toEqual(entries.map((_, index) => index + 1))
    const { sequence, hash } = entries.at(-1) ?? {}
    const verified = await operator.verifyAuditLog({ query: { head: `${sequence}:${hash}` } })
    expect(verified).toMatchObject({ intact: true, expectedHead: 'FOUND' })
  })
})
