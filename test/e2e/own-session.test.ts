import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { openPage } from '../harness/browser.ts'
import { unknownId } from '../harness/catalogue.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

describe('GET /security/self', () => {
  let portico: Portico
  let owner: Client<'CONSUMER'>
  let operator: Client<'SYSTEM'>
  const workspaceId = developmentIds.workspace

  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ sessions }) => {
        sessions.idleMs = 30_000
      },
    })
    owner = clientOf(portico, 'CONSUMER')
    operator = clientOf(portico, 'SYSTEM')
    await signInAs(portico, owner, 'owner@demo.test')
    await signInAs(portico, operator, 'operator@demo.test')
  })
  afterAll(() => portico?.stop())

  test('sessions.self 200: the account and its step-up, without permissions unless a workspace is named', async () => {
    const account = await owner.readProfile()
    const own = await owner.readOwnSession()
    expect(own).toMatchObject({ portal: 'CONSUMER', workspaceBizId: null, permissionCodes: [] })
    expect(own.accountBizId).toBe(account.bizId)
    expect(Date.parse(own.expiresAt)).toBeGreaterThan(Date.parse(own.idleExpiresAt))
    expect(Date.parse(own.steppedUpUntil ?? '') - Date.now()).toBeLessThanOrEqual(portico.settings.mfa.stepUpMs)
    const inWorkspace = await owner.readOwnSession({ workspaceId })
    expect(inWorkspace.workspaceBizId).toBe(workspaceId)
    expect(inWorkspace.permissionCodes).toEqual(expect.arrayContaining(['transfer:create', 'wallet:read']))
  })

  test('sessions.self 200: the permissions of a member with a narrow role, and of an operator', async () => {
    const viewer = clientOf(portico, 'CONSUMER')
    await signInAs(portico, viewer, 'member@demo.test')
    const { permissionCodes } = await viewer.readOwnSession({ workspaceId })
    expect(permissionCodes).toContain('wallet:read')
    expect(permissionCodes).not.toContain('role:manage')
    const decided = await operator.readOwnSession()
    expect(decided).toMatchObject({ portal: 'SYSTEM', workspaceBizId: null })
    expect(decided.permissionCodes).toContain('account:approve')
  })

  test('sessions.self 403 ACCESS.PERMISSION_DENIED: for a workspace of others', async () => {
    const refused = { status: 403, code: 'ACCESS.PERMISSION_DENIED' }
    await expect(owner.readOwnSession({ workspaceId: unknownId })).rejects.toMatchObject(refused)
    await expect(operator.readOwnSession({ workspaceId })).rejects.toMatchObject(refused)
  })

  test('sessions.self 200: does not prolong the session, but other requests do', async () => {
    const idleEnd = async () => (await owner.readOwnSession({ workspaceId })).idleExpiresAt
    const before = await idleEnd()
    // Activity is recorded every thirtieth of the idle time.
    await pause(1_100)
    expect(await idleEnd()).toBe(before)
    await owner.readProfile()
    await expect.poll(idleEnd).not.toBe(before)
  })

  test('observations.listRequests, readOverview 200: do not prolong the session, with tokens and with a cookie', async () => {
    const page = await openPage(portico, 'checker@demo.test', 'system')
    const read = async (path: string) => {
      const { status, text, body } = await page.call('GET', path)
      expect(status, text).toBe(200)
      return body.data
    }
    const ends = async () => [
      (await operator.readOwnSession()).idleExpiresAt,
      (await read('/security/self')).idleExpiresAt,
    ]
    const before = await ends()
    await pause(1_100)
    await operator.listRequests()
    await operator.readOverview()
    for (const path of ['/requests', '/overview']) await read(path)
    expect(await ends()).toEqual(before)
    await operator.readProfile()
    await read('/profile')
    for (const at of [0, 1]) await expect.poll(async () => (await ends())[at]).not.toBe(before[at])
  })
})
