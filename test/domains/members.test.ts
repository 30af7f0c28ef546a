import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../src/contract/members.ts'
import * as operators from '../../src/contract/operator-workspaces.ts'
import { listWorkspaces } from '../../src/domains/operators/workspaces-store.ts'
import type { AccountId } from '../../src/kernel/index.ts'
import { createWorld, type World } from './world.ts'

let world: World
let owner: AccountId
beforeAll(async () => {
  world = await createWorld()
  owner = await world.account('owner@example.test')
}, 60_000)
afterAll(() => world.close())

describe('part of a name, in any case', () => {
  const name = 'ΝΗΣΟΣ İpek'
  let workspace: string
  beforeAll(async () => {
    workspace = await world.workspaceOf(owner, name)
    await world.database.updateTable('accounts').set({ account_name: name }).where('biz_id', '=', owner).execute()
  })
  const spellings = ['ΝΗΣΟΣ', 'νησος', 'νησοσ', 'İpek', 'ipek']

  test.each(spellings)('workspaces.listMembers 200: finds %s', async (accountName) => {
    const asked = { as: owner, workspace, query: { accountName } }
    const { items } = await world.ask(world.workspaces.handlers, contract.listMembers, asked)
    expect(items.map(({ userBizId }) => userBizId)).toEqual([owner])
  })

  test.each(spellings)('operators.listWorkspaces 200: finds %s', async (workspaceName) => {
    const {
      workspaceName: part,
      startTime: _from,
      endTime: _to,
      ...query
    } = operators.listWorkspaces.query.parse({ workspaceName })
    const { items } = await listWorkspaces(world.database, { ...query, name: part })
    expect(items.map(({ id }) => id)).toEqual([workspace])
  })
})
