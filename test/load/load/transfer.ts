import { randomInt, randomUUID } from 'node:crypto'
import { type PlannedRequest, planTransfer, smallAmount } from '../../../src/load/scenarios.ts'
import type { SeededAccount } from '../store/accounts.ts'
import type { Line } from './line.ts'
import { readerOf, sendPlanned, walletOf } from './planned.ts'

export interface Person extends SeededAccount {
  headers: Record<string, string>
}

function other(people: readonly SeededAccount[], index: number): number {
  return (index + randomInt(1, people.length)) % people.length
}

export interface Acknowledged {
  orders: string[]
  repeats: number
}

const oneIn = 50

/** Sometimes repeats a request and checks that the same order is returned. */
export function transferStep(people: readonly Person[], wallets: readonly SeededAccount[], reported: Acknowledged) {
  const send = async (line: Line, headers: Record<string, string>, request: PlannedRequest): Promise<string> => {
    const body = await sendPlanned(line, headers, request)
    const { data }: { data: { bizId: string; transferStatus: { code: string } } } = JSON.parse(body)
    if (data.transferStatus.code !== 'COMPLETED') throw new Error(`not completed: ${body}`)
    return data.bizId
  }
  return async (line: Line): Promise<void> => {
    const person = people[randomInt(people.length)]
    const index = wallets.findIndex(({ wallet }) => wallet === person?.wallet)
    const target = wallets[other(wallets, index)]
    if (!person || !target) throw new RangeError('nobody to transfer')
    const requestId = randomUUID()
    const terms = {
      source: walletOf(person),
      target: walletOf(target),
      amount: smallAmount('USD', { integer: randomInt }),
      clientReference: requestId,
    }
    const request = planTransfer(readerOf(person), terms, { requestId, seal: false }, () => undefined)
    const order = await send(line, person.headers, request)
    reported.orders.push(order)
    if (randomInt(oneIn) > 0) return
    reported.repeats += 1
    if ((await send(line, person.headers, request)) !== order) throw new Error('a repeated request was done twice')
  }
}
