import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { workspacePermissions } from '../../src/contract/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { routes } from '../harness/catalogue.ts'
import { storeIsAvailable } from '../harness/store.ts'
import { type AccessWorld, startAccessWorld } from './access-world.ts'

const workspace = developmentIds.workspace
/** Operations of a workspace that require more than a read permission. */
const writes = routes.filter(
  ({ operation: { policy }, chainId }) =>
    chainId !== 'system' && policy.workspace !== 'none' && policy.permission && !policy.permission.endsWith(':read'),
)

describe.skipIf(!storeIsAvailable())('a read-only role', () => {
  let world: AccessWorld
  beforeAll(async () => {
    world = await startAccessWorld()
    const permissionCodes = workspacePermissions.filter((code) => code.endsWith(':read'))
    const body = { roleName: 'Viewer', permissionCodes }
    const { bizId: roleBizId } = await world.data(world.owner, 'POST', '/roles', { workspace, body })
    const { bizId: userBizId } = await world.data(world.member, 'GET', '/profile')
    await world.data(world.owner, 'POST', '/roles/members/role/change', { workspace, body: { userBizId, roleBizId } })
  })
  afterAll(() => world?.portico.stop())

  test('the contract has writes to refuse', () => expect(writes.length).toBeGreaterThan(20))

  test.each(writes)('$name is 403 ACCESS.PERMISSION_DENIED', async ({ method, path }) => {
    const { status, body } = await world.portico.call(method, path, {
      token: world.member.accessToken,
      workspace,
      ...(method === 'POST' ? { body: {} } : {}),
    })
    expect([status, body?.code]).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
  })
})
