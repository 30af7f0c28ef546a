import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { domain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { bizId } from '../../src/contract/fields.ts'
import { member } from '../../src/contract/policies.ts'
import { operation, Refusal } from '../../src/kernel/index.ts'
import { memberContext } from '../../src/ledger/index.ts'
import { auditContextOf, recordSuccess } from '../../src/platform/audit/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { startPortico, type TestPortico } from '../../src/testing/index.ts'

const ledger = { orders: { STAMP_FEE: { prefix: 'STF', open: [], final: ['COMPLETED'] } } } as const

declare global {
  interface PorticoLedger {
    stamps: typeof ledger
  }
}

const contract = {
  createStamp: operation({
    id: 'stamps.create',
    method: 'POST',
    path: '/stamps',
    chains: ['consumer'],
    summary: 'Create a stamp',
    policy: { ...member, workspace: 'required', permission: 'wallet:read', idempotent: true },
    body: z.strictObject({ way: z.enum(['once', 'recordSuccess', 'ledger', 'refusal', 'withoutId']) }),
    reply: z.object({ bizId: bizId.optional() }),
    refuses: ['STATE.CONFLICT'],
  }),
}

const target = '01990000-0000-7000-8000-0000000000aa'

const stamps = domain({
  name: 'stamps',
  summary: 'Stamps.',
  operations: contract,
  ledger,
  needs: ['once', 'ledger'],
  create: ({ once, ledger: book }) => ({
    handlers: {
      createStamp: (request) =>
        once(request, async (tx) => {
          const workspaceId = request.workspace.id
          const { way } = request.body
          if (way === 'recordSuccess')
            await recordSuccess(tx, auditContextOf(request), { workspaceId, targetId: null, detail: { inks: 2 } })
          if (way === 'ledger') {
            const { actor, audit } = memberContext(request)
            const create = {
              workspace: workspaceId,
              type: 'STAMP_FEE',
              data: {},
              steps: [{ status: 'COMPLETED' }],
            } as const
            await book.within(tx).execute({ actor, audit, parties: [], create })
          }
          if (way === 'refusal') throw new Refusal('STATE.CONFLICT')
          return way === 'withoutId' ? {} : { bizId: target }
        }),
    },
  }),
})

describe('once', () => {
  let portico: TestPortico<[typeof contract]>
  beforeAll(async () => {
    portico = await startPortico({ domains: [...bankingDomains, stamps], contract: [contract] })
  })
  afterAll(() => portico?.stop())

  /** Sends a request and a retry with its id. Returns the entries. */
  const entriesOf = async (way: 'once' | 'recordSuccess' | 'ledger' | 'refusal' | 'withoutId') => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const operator = await portico.signInOperator('operator@demo.test')
    const requestId = crypto.randomUUID()
    const send = () => owner.createStamp({ workspaceId: developmentIds.workspace, requestId, body: { way } })
    for (let attempt = 1; attempt <= 2; attempt++) await send().catch(() => undefined)
    const { items } = await operator.listAuditLog({ query: { action: 'stamps.create' } })
    return items.filter((entry) => entry.requestId === requestId)
  }
  const own = { workspaceBizId: developmentIds.workspace, outcome: { code: 'SUCCESS' } }

  test('records a success with the `bizId` of the reply, and a retry records nothing', async () => {
    expect(await entriesOf('once')).toMatchObject([{ ...own, targetBizId: target, detail: {} }])
  })

  test('records no target if the reply has no `bizId`', async () => {
    expect(await entriesOf('withoutId')).toMatchObject([{ ...own, targetBizId: null }])
  })

  test('does not double an entry of `recordSuccess`', async () => {
    expect(await entriesOf('recordSuccess')).toMatchObject([{ ...own, targetBizId: null, detail: { inks: 2 } }])
  })

  test('does not double the entry of a command of the ledger', async () => {
    const [entry, ...others] = await entriesOf('ledger')
    expect(others).toEqual([])
    expect(entry).toMatchObject(own)
    expect(entry?.targetBizId).not.toBe(target)
  })

  test('records nothing if the work is refused', async () => {
    expect(await entriesOf('refusal')).toEqual([])
  })
})
