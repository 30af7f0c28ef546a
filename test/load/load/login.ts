import { randomUUID } from 'node:crypto'
import type { Line } from './line.ts'
import type { Mailbox } from './mailbox.ts'
import { chain, password, perimeter } from './people.ts'

async function post(line: Line, path: string, body: object, headers: Record<string, string>) {
  const requested = { ...headers, 'x-request-id': randomUUID() }
  const reply = await line.sendRequest({
    method: 'POST',
    path: chain + path,
    headers: requested,
    body: JSON.stringify(body),
  })
  if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.body}`)
  const { data }: { data: { sessionId: string; accessToken: string } } = JSON.parse(reply.body)
  return data
}

export async function logIn(line: Line, mailbox: Mailbox, email: string): Promise<Record<string, string>> {
  const headers = perimeter(`client-of-${email}`)
  const { sessionId } = await post(line, '/auth/login/initiate', { email, password }, headers)
  await post(line, '/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' }, headers)
  const code = await mailbox.code(email)
  const { accessToken } = await post(line, '/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code }, headers)
  if (!accessToken) throw new Error('no token')
  return { ...headers, authorization: `Bearer ${accessToken}` }
}
