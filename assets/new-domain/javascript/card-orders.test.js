/* Tests of the domain: `npx vitest run`. Edit `samples` when an operation gets new input. */
import { bankingDomains } from 'portico'
import { promises, startPortico } from 'portico/testing'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import * as contract from './contract.js'
import domain from './index.js'

// The first start of a gateway creates a store, which takes longer than the default time limits.
vi.setConfig({ hookTimeout: 120_000, testTimeout: 60_000 })

const newBody = () => ({ name: crypto.randomUUID() })

/** Valid input by operation id. */
const samples = {
  'cardOrders.create': () => ({ body: newBody() }),
  'cardOrders.read': async (place) => ({
    params: { card_order_id: (await place.run(contract.createCardOrder, { body: newBody() })).bizId },
  }),
}

promises([domain], { describe, test, beforeAll, afterAll, expect }, { samples })

describe('cardOrders', () => {
  let portico
  beforeAll(async () => {
    portico = await startPortico({ domains: [...bankingDomains, domain], contract: [contract] })
  })
  afterAll(() => portico?.stop())

  test('cardOrders.create 200: the workspace can read and list it', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const created = await owner.createCardOrder({ body: { name: 'First' } })
    expect(created.name).toBe('First')
    expect(await owner.readCardOrder({ params: { card_order_id: created.bizId } })).toEqual(created)
    expect(await owner.listCardOrders()).toEqual([created])
  })

  test('cardOrders.create 409 CARD_ORDER.EXISTS: a workspace has each name once', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    await owner.createCardOrder({ body: { name: 'Second' } })
    const again = owner.createCardOrder({ body: { name: 'Second' } })
    await expect(again).rejects.toMatchObject({ code: 'CARD_ORDER.EXISTS' })
  })
})
