import type { JobPace } from '../../src/compose/jobs.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { encodeMultipart, pdf } from '../harness/multipart.ts'
import { type Adjust, startMoneyWorld } from './money-world.ts'

const { workspace, mainUsd } = developmentIds

export const cancelReason = { cancelReason: 'changed my mind' }
export const reason = { reason: 'no such payment' }

export function stepsOf(order: { statusHistory: { status: { code: string } }[] }): string[] {
  return order.statusHistory.map(({ status }) => status.code)
}

export async function startRechargesWorld(adjust?: Adjust, pace: JobPace = {}) {
  const world = await startMoneyWorld(adjust, pace)
  const { portico, owner, web, data } = world
  const receipt = { where: workspace, fileName: 'receipt.pdf', type: 'application/pdf' }
  const upload = async (
    changed: Partial<typeof receipt> & { purpose?: string; content?: Uint8Array } = {},
  ): Promise<string> => {
    const { where, purpose, ...file } = { ...receipt, content: pdf(), purpose: 'RECHARGE_PROOF', ...changed }
    const { headers, body } = encodeMultipart([
      { name: 'file', ...file },
      { name: 'purpose', content: purpose },
    ])
    const call = { token: owner.accessToken, workspace: where, headers, body }
    return (await data(portico.call('POST', '/web/v1/consumer/files/upload', call))).bizId
  }
  const orderOf = (changed: object = {}) => ({
    walletBizId: mainUsd,
    channelCode: 'BANK_USD',
    amount: '100.00',
    ...changed,
  })
  const create = (changed: object = {}) => data(web('POST', '/recharges', orderOf(changed)))
  const createProved = async (changed: object = {}) => {
    const { bizId } = await create(changed)
    return data(web('POST', `/recharges/${bizId}/proof`, { fileBizId: await upload() }))
  }
  const balance = async (wallet: string = mainUsd) =>
    Number((await data(web('GET', `/wallets/${wallet}/balance`))).availableBalance)
  const balanceChange = async (work: () => Promise<unknown>, wallet: string = mainUsd) => {
    const before = await balance(wallet)
    await work()
    return Math.round(((await balance(wallet)) - before) * 100) / 100
  }
  return { ...world, upload, orderOf, create, createProved, balanceChange }
}

export type RechargesWorld = Awaited<ReturnType<typeof startRechargesWorld>>
