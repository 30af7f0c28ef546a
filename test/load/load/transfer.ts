import { randomInt, randomUUID } from 'node:crypto'
import type { SeededAccount } from '../store/accounts.ts'
import type { Line } from './line.ts'
import { chain } from './people.ts'

export interface Person extends SeededAccount {
  headers: Record<string, string>
}

const other = (people: readonly SeededAccount[], index: number): number =>
  (index + randomInt(1, people.length)) % people.length

/** The acknowledged orders and the number of repeated requests. */
export interface Acknowledged {
  orders: string[]
  repeats: number
}

const oneIn = 50

/** Transfers to a random wallet. Sometimes repeats the request and checks that the same order is returned. */
export const transferStep = (people: readonly Person[], wallets: readonly SeededAccount[], reported: Acknowledged) => {
  const send = async (line: Line, headers: Record<string, string>, body: string): Promise<string> => {
    const reply = await line.sendRequest({ method: 'POST', path: `${chain}/transfer/command/create`, headers, body })
    if (reply.status !== 200) throw new Error(`${reply.status} ${reply.body}`)
    const { data }: { data: { bizId: string; transferStatus: { code: string } } } = JSON.parse(reply.body)
    if (data.transferStatus.code !== 'COMPLETED') throw new Error(`not completed: ${reply.body}`)
    return data.bizId
  }
  return async (line: Line): Promise<void> => {
    const person = people[randomInt(people.length)]
    const index = wallets.findIndex(({ wallet }) => wallet === person?.wallet)
    const target = wallets[other(wallets, index)]
    if (!person || !target) throw new RangeError('nobody to transfer')
    const headers = { ...person.headers, 'x-workspace-id': person.workspace, 'x-request-id': randomUUID() }
    const body = JSON.stringify({
      sourceWalletBizId: person.wallet,
      targetWalletBizId: target.wallet,
      amount: `${randomInt(1, 10)}.00`,
      currency: 'USD',
    })
    const order = await send(line, headers, body)
    reported.orders.push(order)
    if (randomInt(oneIn) > 0) return
    reported.repeats += 1
    if ((await send(line, headers, body)) !== order) throw new Error('a repeated request was done twice')
  }
}
