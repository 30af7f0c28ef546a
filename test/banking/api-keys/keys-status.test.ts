import { afterAll, expect, test } from 'vitest'
import * as contract from '../../../src/banking/api-keys/contract.ts'
import { keyedColumns } from '../../../src/banking/api-keys/schema.ts'
import { secretKeyId } from '../../../src/platform/crypto/index.ts'
import { readKeyUsage } from '../../../src/platform/key-rotation/index.ts'
import { createWorld } from '../world.ts'
import { createTestApiKeys, secretKey } from './fixture.ts'

const world = await createWorld()
afterAll(() => world.close())

test('keys status: counts API keys that can be used again, not deleted ones', async () => {
  const { handlers } = createTestApiKeys(world, [])
  const as = await world.account('owner@example.test')
  const workspace = await world.workspaceOf(as)
  const create = (apiKeyName: string) =>
    world.call(handlers, contract.createApiKey, {
      as,
      workspace,
      body: { apiKeyName, permissionCodes: ['wallet:read'] },
    })
  const [disabled, deleted] = [await create('Disabled'), await create('Deleted')]
  await world.call(handlers, contract.disableApiKey, { as, workspace, body: { apiKeyBizId: disabled.bizId } })
  await world.call(handlers, contract.deleteApiKey, { as, workspace, body: { apiKeyBizId: deleted.bizId } })
  const ids = { current: 'ffffffff', previous: [Buffer.from(secretKeyId(secretKey)).toString('hex')] }
  const usages = await readKeyUsage(world.database, keyedColumns, ids, world.clock.now())
  const digests = { kind: 'digest', current: 0, unknown: 0 }
  expect(usages).toEqual([
    { ...digests, label: 'API keys', previous: 1 },
    { ...digests, label: 'API keys of operators', previous: 0 },
  ])
})
