import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { developmentIds } from '../../src/seed/development.ts'
import { type Answer, type Call, send } from '../harness/http.ts'
import type { DevelopmentMail } from '../harness/portico.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { signIn } from '../harness/sign-in.ts'

export interface Target {
  url: string
  operationsUrl: string
}

/** Looks up the processes for each call, because they change. */
export interface FaultClient {
  call(method: string, path: string, call?: Call): Promise<Answer>
  mailTo(address: string, template?: string): Promise<DevelopmentMail>
}

export function createClient(targets: () => Target[]): FaultClient {
  let turn = 0
  return {
    call: (method, path, call) => {
      const all = targets()
      return send(all[turn++ % all.length]?.url ?? '', method, path, call)
    },
    mailTo: async (address, wanted = 'login-code') => {
      // Processes on one store share the outbox, newest first even if the clock changed.
      const response = await fetch(`${targets()[0]?.operationsUrl}/mail.json`)
      const mails: DevelopmentMail[] = await response.json()
      const found = mails.find(({ to, template }) => to === address && template === wanted)
      if (!found) throw new Error(`no mail to ${address}`)
      return found
    },
  }
}

export interface User {
  client: FaultClient
  token: string
}

export async function signedIn(client: FaultClient, email?: string): Promise<User> {
  return {
    client,
    token: (await signIn(client, email)).accessToken,
  }
}

export function sendRequest(user: User, method: string, path: string, call: Call = {}): Promise<Answer> {
  return user.client.call(method, `/web/v1/consumer${path}`, {
    token: user.token,
    workspace: developmentIds.workspace,
    ...call,
  })
}

/** A transfer of 0.01 USD. Status 0 means no response. */
export interface Attempt {
  requestId: string
  status: number
  orderId: string | null
}

export async function transfer(user: User, requestId: string = randomUUID()): Promise<Attempt> {
  const body = {
    sourceWalletBizId: developmentIds.mainUsd,
    targetWalletBizId: developmentIds.savingsUsd,
    amount: '0.01',
    currency: 'USD',
  }
  const headers = { 'x-request-id': requestId }
  const answer = await sendRequest(user, 'POST', '/transfer/command/create', { headers, body }).catch(() => null)
  return { requestId, status: answer?.status ?? 0, orderId: answer?.status === 200 ? answer.body.data.bizId : null }
}

/** Pauses for a moment after a failure. */
export function burst(user: User, workers: number): { stop(): Promise<Attempt[]>; attempts: Attempt[] } {
  const attempts: Attempt[] = []
  let stopped = false
  const work = async () => {
    while (!stopped) {
      const attempt = await transfer(user)
      attempts.push(attempt)
      // Every attempt must be settled afterwards, so make few while a process is stopped.
      if (attempt.status !== 200) await pause(attempt.status === 0 ? 400 : 20)
    }
  }
  const all = Promise.all(Array.from({ length: workers }, work))
  return {
    attempts,
    stop: async () => {
      stopped = true
      await all
      return attempts
    },
  }
}

export async function kill({ child }: PorticoProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
