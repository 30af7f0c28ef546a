import { expect, it } from 'vitest'
import { catalogue } from '../../src/contract/index.ts'
import { operatorKeyErrors } from '../../src/contract/permissions.ts'
import { routesOf } from './routes.ts'

it('the machine chain of operators has reads of the audit log, and SCIM for the provider of the key', () => {
  const served = routesOf('systemApi').map(({ operation }) => operation)
  const [scim, reads] = [true, false].map((isScim) => served.filter(({ protocol }) => (protocol === 'scim') === isScim))
  expect(reads?.map(({ id }) => id).toSorted()).toEqual(['operators.listAuditLog', 'operators.verifyAuditLog'])
  expect(scim).toHaveLength(15)
  for (const operation of served) expect(operatorKeyErrors(operation), operation.id).toEqual([])
  const ids = served.map(({ id }) => id)
  for (const operation of catalogue.filter(({ id }) => !ids.includes(id)))
    expect(operatorKeyErrors({ ...operation, chains: ['systemApi'] }), operation.id).toHaveLength(1)
})

it('no operation can borrow the protocol, the chain or the permission of SCIM', () => {
  const { protocol: _, ...plain } = catalogue.find(({ id }) => id === 'provisioning.createUser') ?? expect.fail()
  const scim = { ...plain, protocol: 'scim' } as const
  const { policy } = scim
  expect(operatorKeyErrors(scim)).toEqual([])
  for (const borrowed of [
    plain,
    { ...scim, id: 'cards.create' },
    { ...scim, chains: ['system'] as const },
    { ...scim, chains: ['systemApi', 'system'] as const },
    { ...scim, policy: { ...policy, permission: 'audit:read' as const } },
    { ...scim, policy: { ...policy, permission: null } },
    { ...scim, policy: { ...policy, stepUp: true } },
    { ...scim, policy: { ...policy, caller: 'anonymous' as const } },
    { ...scim, policy: { ...policy, workspace: 'optional' as const } },
  ])
    expect(operatorKeyErrors(borrowed)).toHaveLength(1)
})
