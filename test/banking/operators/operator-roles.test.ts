import { expect, test } from 'vitest'
import { operatorRoles } from '../../../src/banking/operators/index.ts'
import { operatorPermissions } from '../../../src/contract/index.ts'

const readPermissions = [
  ...['account:read', 'workspace:read', 'recharge:read', 'transfer:read', 'withdrawal:read'],
  ...['withdrawal-channel:read', 'exchange-rate:read', 'ledger:read', 'audit:read', 'operator:read'],
  ...['event:read', 'webhook:read', 'operator-key:read', 'gateway:observe'],
]

test.each([
  ['administrator', [...operatorPermissions]],
  ['auditor', readPermissions],
  ['approver', [...readPermissions, 'account:approve', 'transfer:approve', 'withdrawal:approve']],
  ['confirmer', [...readPermissions, 'recharge:approve']],
  ['verifier', [...readPermissions, 'withdrawal-channel:verify', 'withdrawal-channel:reveal']],
  ['settler', [...readPermissions, 'withdrawal:settle', 'withdrawal-channel:reveal']],
])('operator create: role %s has exactly its permissions', (role, permissions) => {
  const granted = operatorPermissions.filter((permission) => operatorRoles[role]?.(permission))
  expect(granted.toSorted()).toEqual(permissions.toSorted())
})

test('operator create: no role except administrator confirms, verifies, approves and settles', () => {
  const duties = ['recharge:approve', 'withdrawal-channel:verify', 'withdrawal:approve', 'withdrawal:settle']
  for (const [role, holds] of Object.entries(operatorRoles)) {
    const held = operatorPermissions.filter((permission) => duties.includes(permission) && holds(permission))
    if (role !== 'administrator') expect(held.length, role).toBeLessThanOrEqual(1)
  }
})
