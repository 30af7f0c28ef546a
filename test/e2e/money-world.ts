import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { JobPace } from '../../src/compose/jobs.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { confirmation } from '../harness/confirmation.ts'
import type { Answer } from '../harness/http.ts'
import { startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'

export function codeOf({ status, body }: Answer): [status: number, code: unknown] {
  return [status, body?.code]
}
export const notFound = [404, 'RESOURCE.NOT_FOUND']
export const conflict = [409, 'STATE.CONFLICT']
export const invalid = [400, 'VALIDATION.INVALID_PARAMETER']
export const limit = [422, 'WALLET.LIMIT_EXCEEDED']
export const unavailable = [422, 'CHANNEL.NOT_AVAILABLE']
export const reused = [422, 'REQUEST.ID_REUSED']

export type Adjust = NonNullable<NonNullable<Parameters<typeof startPortico>[0]>['adjust']>

export async function startMoneyWorld(adjust?: Adjust, pace: JobPace = {}) {
  const portico = await startPortico({ pace, ...(adjust && { adjust }) })
  const owner = await signIn(portico)
  const operator = await signIn(portico, 'operator@demo.test')
  const web = (method: string, path: string, body?: unknown, more: { id?: string; workspace?: string } = {}) =>
    portico.call(method, `/web/v1/consumer${path}`, {
      token: owner.accessToken,
      workspace: more.workspace ?? developmentIds.workspace,
      headers: { 'x-request-id': more.id ?? randomUUID() },
      ...(body !== undefined && { body }),
    })
  /** A confirmation without a body gets a reference that depends on the id. */
  const system = (method: string, path: string, body?: unknown, id: string = randomUUID()) => {
    const sent = body === undefined && path.endsWith('/confirm') ? confirmation(id) : body
    return portico.call(method, `/web/v1/system${path}`, {
      token: operator.accessToken,
      headers: { 'x-request-id': id },
      ...(sent !== undefined && { body: sent }),
    })
  }
  const data = async (request: Promise<Answer>) => {
    const response = await request
    expect(response.status, response.text).toBe(200)
    return response.body.data
  }
  const postingsOf = async (order: string): Promise<[account: string, amount: string][]> => {
    const postings: { ledgerAccount: string; amount: string }[] = await data(
      system('GET', `/ledger/orders/${order}/postings`),
    )
    return postings.map(({ ledgerAccount, amount }): [string, string] => [ledgerAccount, amount]).sort()
  }
  return { portico, owner, operator, web, system, data, postingsOf }
}

/** The other requests must get a conflict. */
export async function assertOneSucceeds(rivals: Promise<Answer>[]): Promise<Answer> {
  const responses = await Promise.all(rivals)
  const [won, ...more] = responses.filter(({ status }) => status === 200)
  expect(more, responses.map(({ text }) => text).join('\n')).toEqual([])
  for (const response of responses) if (response !== won) expect(codeOf(response)).toEqual(conflict)
  if (!won) throw new Error('no request succeeded')
  return won
}
