import { describe, expect, expectTypeOf, it } from 'vitest'
import { createApiClient, createClient } from '../../src/client/index.ts'
import { catalogue } from '../../src/contract/index.ts'

const at = { baseUrl: 'http://127.0.0.1:1', accessCode: 'x' }
const passkeys = ['addPasskey', 'removePasskey', 'signInWithPasskey']
const frame = ['clientHash', 'close', 'session', 'signOut', 'with']
const own = ['answer', 'events', 'signIn', 'socketProtocols', ...frame, ...passkeys]

describe.each(['CONSUMER', 'SYSTEM'] as const)('the client of %s', (portal) => {
  const client = createClient({ ...at, portal })

  it('has a method for each operation of its portal, and no other', () => {
    const chain = portal === 'CONSUMER' ? 'consumer' : 'system'
    const served = catalogue.filter(({ chains }) => chains.includes(chain) || chains.includes('self'))
    const names = Object.keys(client).filter((name) => !own.includes(name))
    expect(names).toHaveLength(served.length)
    expect(Object.keys(client)).toHaveLength(served.length + own.length)
  })

  it('rejects an operation of the other portal', async () => {
    const foreign = catalogue.find(
      ({ chains }) => !chains.includes('self') && !chains.some((each) => each === portal.toLowerCase()),
    )
    if (!foreign) throw new Error('there is none')
    await expect(client.answer(foreign, {})).rejects.toThrow(`${foreign.id} is not served`)
  })
})

describe("the methods' types", () => {
  const consumer = createClient({ ...at, portal: 'CONSUMER' })
  const system = createClient({ ...at, portal: 'SYSTEM' })
  const machine = createApiClient({ baseUrl: at.baseUrl, apiKey: 'x' })

  it('require the input of an operation, and nothing else', () => {
    expect(consumer.listWallets).toBeTypeOf('function')
    expectTypeOf(consumer.listWallets).parameter(0).toExtend<object | undefined>()
    expectTypeOf<Parameters<typeof consumer.createTransfer>[0]['body']['amount']>().toEqualTypeOf<string>()
    expectTypeOf<Parameters<typeof consumer.readWallet>[0]['params']>().toEqualTypeOf<Record<'wallet_id', string>>()
    expectTypeOf<Parameters<typeof consumer.uploadFile>[0]['body']>().toEqualTypeOf<FormData>()
    expectTypeOf(consumer.listTransfers).toBeCallableWith({ query: { pageSize: 5, sortOrder: 'asc' } })
    expectTypeOf(consumer.revokeOtp).toBeCallableWith()
    // @ts-expect-error a transfer requires a body
    expectTypeOf(consumer.createTransfer).toBeCallableWith({})
    // @ts-expect-error no such filter
    expectTypeOf(consumer.listTransfers).toBeCallableWith({ query: { colour: 'blue' } })
  })

  it('require a workspace exactly where the policy requires one', () => {
    const params = { wallet_id: 'x' }
    expect([consumer, machine].map(({ readWallet }) => typeof readWallet)).toEqual(['function', 'function'])
    expectTypeOf(consumer.readWallet).toBeCallableWith({ params, workspaceId: 'x' })
    expectTypeOf(consumer.createTransfer).parameter(0).toHaveProperty('workspaceId').toEqualTypeOf<string | undefined>()
    expectTypeOf(machine.readWallet).toBeCallableWith({ params: { walletBizId: 'x' } })
    // @ts-expect-error the operation requires a workspace
    expectTypeOf(consumer.readWallet).toBeCallableWith({ params })
    // @ts-expect-error the operation requires a workspace
    expectTypeOf(consumer.listRoles).toBeCallableWith()
  })

  it('have the codes of coded values', () => {
    expect(consumer.readTransfer).toBeTypeOf('function')
    expectTypeOf<Awaited<ReturnType<typeof consumer.readTransfer>>['transferStatus']['code']>().toEqualTypeOf<
      'PENDING_APPROVAL' | 'PROCESSING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'EXPIRED'
    >()
    expectTypeOf(consumer.listFlows).toBeCallableWith({
      params: { wallet_id: 'x' },
      workspaceId: 'x',
      query: { flowType: 'FEE', direction: 'IN' },
    })
  })

  it('distinguish replies', () => {
    expect(consumer.downloadFile).toBeTypeOf('function')
    expectTypeOf(consumer.downloadFile).returns.resolves.toEqualTypeOf<Response>()
    expectTypeOf(consumer.isTransferCompleted).returns.resolves.toEqualTypeOf<boolean>()
    expectTypeOf<Awaited<ReturnType<typeof consumer.createTransfer>>['amount']>().toEqualTypeOf<string>()
  })

  it('distinguish the portals', () => {
    expect([consumer, system].map((client) => 'approveTransfer' in client)).toEqual([false, true])
    expectTypeOf(consumer).not.toHaveProperty('approveTransfer')
    expectTypeOf(system).not.toHaveProperty('createTransfer')
    expectTypeOf(system).toHaveProperty('approveTransfer')
    expectTypeOf(system).toHaveProperty('readOwnSessionConfig')
  })
})
