import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { downloadExport } from '../../../src/banking/exports/contract.ts'
import { downloadFile, readFile } from '../../../src/banking/files/contract.ts'
import type { TicketUse } from '../../../src/gateway/pipeline/ports.ts'
import { startBrowserSession } from '../../../src/identity/browser-sessions/contract.ts'
import type { Identity } from '../../../src/identity/index.ts'
import { logout } from '../../../src/identity/login/contract.ts'
import { type Caller, type Operation, sessionCookieOf } from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { storedInPlainText } from '../../harness/rows.ts'
import {
  begin,
  call,
  codeOf,
  createRequestContext,
  credential,
  type Harness,
  harness,
  invoke,
  signedIn,
} from '../harness.ts'

const file_id = '01990000-0000-7000-8000-00000000f11e'
const path = `/web/v1/consumer/files/${file_id}/download`
const workspace = { id: systemIds.next<'workspace'>() }

let at: Harness
let email: string
let caller: Caller
let count = 0
beforeAll(async () => {
  at = await harness((settings) => {
    settings.portals.CONSUMER.codeSends.limit = 1_000
  })
})
beforeEach(async () => {
  email = `link${count++}@demo.test`
  await at.account(email)
  caller = await start()
})
afterAll(() => at.close())

async function start(): Promise<Caller> {
  const { sessionId, code } = await begin(at, email)
  const body = { sessionId, mfaMethod: 'EMAIL', code }
  const token = sessionCookieOf(await invoke(at.identity, startBrowserSession, createRequestContext(at.clock), body))
  if (!token) throw new Error('the reply sets no cookie')
  const request = { operationId: 'sessions.self', requestId: 'one' }
  return at.identity.authentication.sessionCookie({ ...credential(token), ...request, portal: 'CONSUMER' })
}

async function createLink(by = caller): Promise<string> {
  const { url } = await at.identity.createLink({ caller: by, workspace, locale: 'ja' }, downloadFile, { file_id })
  const [opened, value = ''] = url.split('?ticket=')
  expect(opened).toBe(path)
  return value
}

function use(value: string, more: Partial<TicketUse> = {}, identity: Identity = at.identity) {
  return identity.authentication.ticket({ caller, value, operationId: 'files.download', path, ...more })
}

test('files.link 200: the ticket has 256 bits, and only its digest is stored', async () => {
  const value = await createLink()
  expect(value).toMatch(/^[\w-]{43}$/)
  expect(await storedInPlainText(at.ports.database, value)).toEqual([])
  expect(await use(value)).toEqual({ workspaceId: workspace.id, locale: 'ja' })
})

test('files.download 403 ACCESS.TICKET_INVALID: of 10 parallel uses on two replicas, one succeeds', async () => {
  const other = await at.replica()
  const value = await createLink()
  const uses = Array.from({ length: 10 }, (_, n) => use(value, {}, n % 2 === 0 ? at.identity : other))
  const settled = await Promise.allSettled(uses)
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await codeOf(use(value))).toBe('ACCESS.TICKET_INVALID')
})

test('files.download 403 ACCESS.TICKET_INVALID: any other session, path or operation does not spend the ticket', async () => {
  const value = await createLink()
  const sameAccount = await start()
  await at.account(`other${count}@demo.test`)
  for (const wrong of [
    { caller: sameAccount },
    { caller: { ...caller, portal: 'SYSTEM' as const } },
    { caller: { ...caller, accountId: systemIds.next<'account'>() } },
    { path: `${path}?x=1` },
    { path: path.toUpperCase() },
    { operationId: 'exports.download' },
    { value: 'A'.repeat(43) },
  ])
    expect([wrong, await codeOf(use(value, wrong))]).toEqual([wrong, 'ACCESS.TICKET_INVALID'])
  expect(await use(value)).toMatchObject({ locale: 'ja' })
})

test('files.download 403 ACCESS.TICKET_INVALID: after 60 s, and once the clock is set back by more than that', async () => {
  const [first, second, third] = [await createLink(), await createLink(), await createLink()]
  at.clock.advance(59_999)
  await use(first)
  at.clock.advance(1)
  expect(await codeOf(use(second))).toBe('ACCESS.TICKET_INVALID')
  at.clock.advance(-120_001)
  expect(await codeOf(use(third))).toBe('ACCESS.TICKET_INVALID')
  at.clock.advance(120_001)
})

test('files.download 403 ACCESS.TICKET_INVALID: an ended session, even if a replica does not know it yet', async () => {
  const value = await createLink()
  await call(at.identity, logout, createRequestContext(at.clock), null, caller)
  expect(await codeOf(use(value))).toBe('ACCESS.TICKET_INVALID')
  expect(await codeOf(createLink())).toBe('ACCESS.COOKIE_INVALID')
})

test('files.link 400 ACCESS.COOKIE_INVALID: a session that has tokens, and an API key', async () => {
  expect(await codeOf(createLink(await signedIn(at, email)))).toBe('ACCESS.COOKIE_INVALID')
  expect(await codeOf(createLink({ ...caller, sessionId: null, apiKeyId: 'key' }))).toBe('ACCESS.COOKIE_INVALID')
})

test('files.link 429 ACCESS.RATE_LIMITED: a session has at most 100 unused tickets', async () => {
  const settled = await Promise.allSettled(Array.from({ length: 110 }, () => createLink()))
  const created = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  expect(created).toHaveLength(100)
  expect(await codeOf(createLink())).toBe('ACCESS.RATE_LIMITED')
  await use(created[0] ?? '')
  created.push(await createLink())
  at.clock.advance(60_000)
  await createLink()
  await at.identity.deleteExpired(at.ports.database)
  const stored = await at.ports.database
    .selectFrom('session_tickets')
    .select('path')
    .where('sessionBizId', '=', caller.sessionId)
    .execute()
  // Those that expire now stay until the next run.
  expect(stored).toHaveLength(101)
  at.clock.advance(60_001)
  await at.identity.deleteExpired(at.ports.database)
  expect(await at.ports.database.selectFrom('session_tickets').select('path').execute()).toEqual([])
})

test('files.link: only operations of the own portal that take tickets have a URL', async () => {
  const link = (by: Caller, operation: Operation) =>
    at.identity.createLink({ caller: by, workspace, locale: 'en' }, operation, { file_id })
  await expect(async () => link({ ...caller, portal: 'SYSTEM' }, downloadFile)).rejects.toThrow(TypeError)
  await expect(async () => link(caller, readFile)).rejects.toThrow(TypeError)
  const { url } = await at.identity.createLink({ caller, workspace, locale: 'en' }, downloadExport, {
    export_id: file_id,
  })
  expect(url).toContain(`/web/v1/consumer/exports/${file_id}/download?ticket=`)
})
