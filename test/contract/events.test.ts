import { describe, expect, test } from 'vitest'
import { eventTypeOf } from '../../src/contract/events/event.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'

/** Statuses without an event, by family. */
const withoutEvents: Readonly<Record<string, readonly string[]>> = {
  // Follows from `expiresAt` and the maximum lifetime. No row changes.
  apiKeyStatus: ['EXPIRED'],
  // A command passes through these. No order stays in them.
  transferStatus: ['PROCESSING'],
  exchangeStatus: ['PROCESSING'],
  // Only the person who works with them reads these.
  quoteStatus: ['OPEN', 'USED', 'EXPIRED'],
  fileStatus: ['AVAILABLE', 'DELETED'],
  exportStatus: ['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'EXPIRED'],
  // Owners get a mail. An event about a webhook, sent by that webhook, would cause further ones without an end.
  webhookStatus: ['ACTIVE', 'DISABLED', 'FAILED', 'SUSPENDED', 'DELETED'],
  webhookDeliveryStatus: ['PENDING', 'DELIVERED', 'FAILED', 'WITHHELD'],
}

const families = [...bankingCatalogue.codedFamilies].filter(([name]) => name.endsWith('Status'))

describe('catalogue.events', () => {
  test.each(families)('%s: an event for each status, or a reason in this test', (name, { codes }) => {
    const object = name.replace(/Status$/, '').replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
    const missing = codes.filter((status) => !bankingCatalogue.events.has(eventTypeOf(object, status)))
    expect(missing).toEqual(withoutEvents[name] ?? [])
  })

  test('the types of objects without a status', () => {
    const objects = /^(member|role|session|operator)\./
    expect([...bankingCatalogue.events.keys()].filter((type) => objects.test(type)).toSorted()).toEqual([
      'member.joined',
      'member.limits_changed',
      'member.removed',
      'member.restored',
      'member.role_changed',
      'member.suspended',
      'operator.permissions_changed',
      'role.changed',
      'role.created',
      'role.deleted',
      'session.ended',
      'session.started',
    ])
  })

  test('the permissions of readers, for reviews', () => {
    const readers = new Map<string, string>()
    for (const [type, { audience, permission, operatorPermission }] of bankingCatalogue.events) {
      const member = audience === 'workspace' ? permission : 'nobody'
      readers.set(type.split('.')[0] ?? '', `${member}, ${operatorPermission ?? 'nobody'}`)
    }
    expect(Object.fromEntries(readers)).toEqual({
      account: 'nobody, account:read',
      api_key: 'api-key:read, api-key:end',
      exchange: 'exchange:read, exchange-rate:read',
      invitation: 'invitation:read, nobody',
      member: 'member:read, workspace:read',
      operator: 'nobody, operator:read',
      proposal: 'nobody, operator:read',
      recharge: 'recharge:read, recharge:read',
      role: 'role:read, nobody',
      session: 'nobody, audit:read',
      transfer: 'transfer:read, transfer:read',
      wallet: 'wallet:read, wallet:freeze',
      withdrawal: 'withdrawal:read, withdrawal:read',
      withdrawal_channel: 'withdrawal-channel:read, withdrawal-channel:read',
      workspace: 'workspace:read, workspace:read',
    })
  })
})
