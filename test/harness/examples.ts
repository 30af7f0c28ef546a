import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Exchange } from '../../src/client/index.ts'

const file = new URL('../../docs/examples.json', import.meta.url)

/** Members whose values nobody should find in a document, however short-lived. */
const secret = new Set(['accessToken', 'refreshToken', 'secret', 'qrCodeUri', 'payload', 'password', 'code', 'token'])
const masks: Record<string, string> = { code: '123456', password: 'correct horse battery staple' }

/** A refusal's and a coded value's `code` is a name, not a code: it is kept. */
const isOneTimeCode = (value: unknown): boolean => typeof value === 'string' && /^\d{6}$/.test(value)

const masked = (name: string, value: unknown): unknown => {
  if (!secret.has(name) || typeof value !== 'string') return value
  if (name === 'code' && !isOneTimeCode(value)) return value
  return masks[name] ?? `<${name}>`
}

const maskAll = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value ?? null, (name, member) => masked(name, member)))

const recorded = new Set<string>()

/**
 * With RECORD_EXAMPLES=1, keeps the first success of each operation in docs/examples.json, where the OpenAPI document
 * takes its examples from. Test files run in several processes: each one merges its own into the file.
 */
export const recordExample = ({ operationId, status, request, reply }: Exchange): void => {
  if (process.env.RECORD_EXAMPLES !== '1' || status !== 200 || reply === null || recorded.has(operationId)) return
  recorded.add(operationId)
  const known: Record<string, unknown> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  const body = request instanceof FormData ? null : request
  known[operationId] = { ...(body === null ? {} : { request: maskAll(body) }), reply: maskAll(reply) }
  const sorted = Object.fromEntries(Object.entries(known).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  const draft = new URL(`../../docs/.examples-${process.pid}.json`, import.meta.url)
  writeFileSync(draft, `${JSON.stringify(sorted, null, 2)}\n`)
  renameSync(draft, file)
}
