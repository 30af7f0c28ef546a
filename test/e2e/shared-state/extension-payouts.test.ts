import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { domain } from '../../../src/api/index.ts'
import { member } from '../../../src/contract/policies.ts'
import { operation } from '../../../src/kernel/index.ts'
import { send } from '../../harness/http.ts'
import { data, newcomer, refusal } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'

const locales = mkdtempSync(join(tmpdir(), 'portico-gifts-'))
function text(name: string) {
  return { name, description: name }
}
writeFileSync(
  join(locales, 'en.yaml'),
  JSON.stringify({ permission: { 'gift:read': text('Read gifts'), 'gift:send': text('Send gifts') } }),
)

const giftOperation = { path: '/gifts', chains: ['consumer'], reply: z.string() } as const
const gifts = domain({
  name: 'gifts',
  summary: 'Gifts.',
  permissions: { workspace: { gift: { actions: ['read', 'send'], payouts: ['send'] } } },
  locales: pathToFileURL(`${locales}/`),
  operations: {
    readGifts: operation({
      ...giftOperation,
      id: 'gifts.read',
      method: 'GET',
      summary: 'Read the gifts',
      policy: { ...member, workspace: 'required', permission: 'gift:read' },
      body: 'none',
      refuses: [],
    }),
    sendGift: operation({
      ...giftOperation,
      id: 'gifts.send',
      method: 'POST',
      summary: 'Send a gift',
      policy: { ...member, workspace: 'required', permission: 'gift:send' },
      body: z.strictObject({ note: z.string() }),
      refuses: ['ACCESS.PAYOUT_HOLD'],
    }),
  },
  create: () => ({ handlers: { readGifts: async () => 'none', sendGift: async () => 'sent' } }),
})

describe('a permission to pay out that an extension declares', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      domains: [gifts],
      adjust: (settings) => {
        settings.access.payoutHoldMs = 3_600_000
        settings.backends = { ...settings.backends, gifts: 'in-process' }
      },
    })
  })
  afterAll(async () => {
    await portico?.stop()
    rmSync(locales, { recursive: true })
  })

  test('gifts.send 403 ACCESS.PAYOUT_HOLD: a new member waits, and the founder does not', async () => {
    const [owner, guest] = [await newcomer(portico), await newcomer(portico)]
    const [{ workspaceBizId }] = data(await owner.by.get('/workspaces/mine', owner.token))
    const within = { 'x-workspace-id': workspaceBizId }
    const post = ({ by, token }: typeof owner, path: string, body: object) =>
      by.post(path, body, token, { ...within, 'x-request-id': randomUUID() })
    const role = { roleName: 'Givers', permissionCodes: ['gift:read', 'gift:send'] }
    const { bizId: roleBizId } = data(await post(owner, '/roles', role))
    const invitation = data(await post(owner, '/invitations', { email: guest.email, roleBizId }))
    data(await guest.by.post('/profile/invitations/accept', { invitationBizId: invitation.bizId }, guest.token))

    // The harness records the audit entries of Portico's own operations only.
    const sendGift = ({ by, token }: typeof owner) =>
      send(portico.url, 'POST', '/web/v1/consumer/gifts', {
        token,
        body: { note: '' },
        headers: { ...within, 'x-client-hash': by.hash, 'cf-connecting-ip': by.ip },
      })
    const refused = await sendGift(guest)
    expect(refusal(refused)).toEqual([403, 'ACCESS.PAYOUT_HOLD'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000)
    expect(data(await guest.by.get('/gifts', guest.token, within))).toBe('none')
    expect(data(await sendGift(owner))).toBe('sent')
  })
})
