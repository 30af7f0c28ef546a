import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { confirmation } from '../harness/confirmation.ts'
import { encodeMultipart } from '../harness/multipart.ts'
import { type Session, signIn } from '../harness/sign-in.ts'
import { type AccessWorld, startAccessWorld } from './access-world.ts'

/** A reset deletes data in tables that all workspaces share. */
describe('a sandbox next to one that is reset', () => {
  let world: AccessWorld
  let operator: Session
  let emptied: string
  let other: string

  beforeAll(async () => {
    world = await startAccessWorld()
    operator = await signIn(world.portico, 'operator@demo.test')
    emptied = await world.workspace(world.owner, 'Emptied', 'SANDBOX')
    other = await world.workspace(world.owner, 'Kept', 'SANDBOX')
  })
  afterAll(() => world?.portico.stop())

  const at = (workspace: string) => {
    const get = (path: string) => world.data(world.owner, 'GET', path, { workspace })
    const post = (path: string, body?: object) =>
      world.data(world.owner, 'POST', path, { workspace, ...(body && { body }) })
    return { get, post }
  }
  const system = async (path: string, body?: object) => {
    const call = { token: operator.accessToken, ...(body && { body }) }
    const response = await world.portico.call('POST', `/web/v1/system${path}`, call)
    expect(response.status, response.text).toBe(200)
  }

  test('sandbox.reset 200: the other sandbox keeps its money, orders, channels, quotes, files and limits', async () => {
    const { get, post } = at(other)
    const wallets: { currency: string; bizId: string }[] = await get('/wallets')
    const walletBizId = wallets.find(({ currency }) => currency === 'USD')?.bizId
    const recharge = { walletBizId, channelCode: 'CARD_USD', amount: '5000.00' }
    for (let times = 0; times < 3; times++) {
      const { bizId } = await post('/recharges', recharge)
      await system(`/recharges/${bizId}/confirm`, confirmation())
    }
    await post('/recharges', recharge)
    const account = {
      channelType: 'BANK',
      currency: 'USD',
      country: 'DE',
      accountNumber: 'DE89370400440532013000',
      bankCode: 'COBADEFF',
    }
    const channel = await post('/withdrawal-channels', { ...account, accountHolderName: 'Ada Lovelace' })
    await system(`/withdrawal-channels/${channel.bizId}/verify`)
    await post('/withdrawals', { walletBizId, withdrawalChannelBizId: channel.bizId, amount: '10.00' })
    const { quoteBizId } = await post('/exchanges/quote', {
      sourceCurrency: 'USD',
      targetCurrency: 'EUR',
      amount: '10.00',
      fixedSide: 'SOURCE',
    })
    const { bizId: exported } = await post('/exports', { exportType: 'FLOWS', format: 'CSV' })
    const status = async () => (await get(`/exports/${exported}`)).exportStatus.code
    await expect.poll(status, { timeout: 20_000 }).toBe('COMPLETED')
    const form = encodeMultipart([
      { name: 'purpose', content: 'DOCUMENT' },
      { name: 'file', content: 'a note', fileName: 'note.txt', type: 'text/plain' },
    ])
    const { bizId: file } = await world.data(world.owner, 'POST', '/files/upload', { workspace: other, ...form })

    const kinds = ['/wallets', '/recharges', '/withdrawals', '/withdrawal-channels', '/exports']
    const things = [`/files/${file}`, `/exchanges/quote/${quoteBizId}`]
    const snapshot = async () => {
      const { asOf: _now, ...balance } = await get(`/wallets/${walletBizId}/balance`)
      return [balance, ...(await Promise.all([...kinds, ...things].map(get)))]
    }
    const before = await snapshot()
    await at(emptied).post('/sandbox/reset')
    expect(await snapshot()).toEqual(before)
    await post('/exchanges', { quoteBizId })
    const exceeded = await world.call(world.owner, 'POST', '/recharges', { workspace: other, body: recharge })
    expect([exceeded.status, exceeded.body.code]).toEqual([422, 'WALLET.LIMIT_EXCEEDED'])
  })
})
