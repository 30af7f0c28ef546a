import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { requiredHeaders } from '../harness/http.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { signInAt } from '../harness/sign-in.ts'
import type { Deployment } from './deployment.ts'
import { type Currency, currencies } from './orders.ts'

const people = { owner: 'owner@demo.test', operator: 'operator@demo.test', checker: 'checker@demo.test' } as const
export type Person = keyof typeof people

/** A workspace of the owner: ids by currency. */
export interface Place {
  workspace: string
  wallets: Record<Currency, string>
  payoutAccounts: Record<Currency, string>
  /** The recharges that brought the funds. */
  funding: string[]
}

export interface Answer {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a black-box client knows no types
  body: any
}

export interface Bank {
  places: Place[]
  /** Sends to the gateways in turn. Status 0 means no response. */
  call(
    by: Person,
    method: 'GET' | 'POST',
    path: string,
    more?: { key?: string; body?: unknown; place?: Place },
  ): Promise<Answer>
  close(): Promise<void>
}

const timeouts = { headersTimeout: 15_000, bodyTimeout: 15_000 }

/** Signs in and opens the workspaces, each with funds that the orders cannot exhaust. */
export async function openBank({ gateways }: Deployment, count: number, funds: string): Promise<Bank> {
  const tokens = new Map<Person, Promise<string>>()
  let turn = 0
  // `fetch` takes three times the CPU time.
  const agent = new Agent({ ...timeouts, allowH2: false })
  const sendOnce = async (
    method: 'GET' | 'POST',
    path: string,
    own: Record<string, string>,
    body: unknown,
  ): Promise<Answer> => {
    const { url } = gateways[turn++ % gateways.length]?.process ?? {}
    if (url === undefined) return noAnswer
    const headers = { ...requiredHeaders(path.startsWith('/web/v1/system') ? 'system-dev' : 'consumer-dev'), ...own }
    try {
      const sent = { method, headers, body: body === undefined ? null : JSON.stringify(body), dispatcher: agent }
      const { statusCode: status, body: received } = await request(url + path, sent)
      const text = await received.text()
      return { status, text, body: text.startsWith('{') ? JSON.parse(text) : null }
    } catch {
      return noAnswer
    }
  }
  /** Until it works, because a fault may be at work. */
  const tokenOf = async (by: Person): Promise<string> => {
    for (let attempt = 1; ; attempt++) {
      const gateway = gateways[attempt % gateways.length]?.process
      try {
        if (!gateway) throw new Error('the gateway is down')
        return (await signInAt(gateway, people[by])).accessToken
      } catch (error) {
        if (attempt >= 100) throw error
        await pause(500)
      }
    }
  }
  const callOnce: Bank['call'] = async (by, method, path, { key, body, place } = {}) => {
    const used = tokens.get(by) ?? tokenOf(by)
    tokens.set(by, used)
    const headers = {
      authorization: `Bearer ${await used}`,
      ...(place && { 'x-workspace-id': place.workspace }),
      ...(key !== undefined && { 'x-request-id': key }),
    }
    const answer = await sendOnce(method, `/web/v1/${by === 'owner' ? 'consumer' : 'system'}${path}`, headers, body)
    // Another caller may have renewed it already.
    if (answer.status === 401 && tokens.get(by) === used) tokens.delete(by)
    return answer
  }
  const call: Bank['call'] = async (...sent) => {
    const answer = await callOnce(...sent)
    return answer.status === 401 ? callOnce(...sent) : answer
  }
  const data = async (...sent: Parameters<typeof call>) => {
    const answer = await call(...sent)
    if (answer.status !== 200) throw new Error(`${sent[2]}: ${answer.status} ${answer.text}`)
    return answer.body.data
  }
  const openPlace = async (index: number): Promise<Place> => {
    const { bizId: workspace } = await data('owner', 'POST', '/workspaces', {
      body: { workspaceName: `Long ${index}` },
    })
    const place: Place = {
      ...{ workspace, wallets: { USD: '', EUR: '' } },
      ...{ payoutAccounts: { USD: '', EUR: '' }, funding: [] },
    }
    const wallets: { bizId: string; currency: string }[] = await data('owner', 'GET', '/wallets', { place })
    for (const currency of currencies) {
      place.wallets[currency] = wallets.find((wallet) => wallet.currency === currency)?.bizId ?? ''
      const account = await data('owner', 'POST', '/withdrawal-channels', { place, body: payoutAccount({ currency }) })
      await data('operator', 'POST', `/withdrawal-channels/${account.bizId}/verify`)
      place.payoutAccounts[currency] = account.bizId
      const body = { walletBizId: place.wallets[currency], channelCode: `CARD_${currency}`, amount: funds }
      const { bizId } = await data('owner', 'POST', '/recharges', { place, body })
      await data('operator', 'POST', `/recharges/${bizId}/confirm`, { body: { externalReference: bizId } })
      place.funding.push(bizId)
    }
    return place
  }
  const places: Place[] = []
  for (let index = 0; index < count; index++) places.push(await openPlace(index))
  return { places, call, close: () => agent.destroy() }
}

const noAnswer: Answer = { status: 0, text: '', body: null }
