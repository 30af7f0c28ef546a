import { expect, test } from 'vitest'
import { operatorPermissions } from '../../../src/contract/index.ts'
import { operatorRoles } from '../../../src/domains/operators/index.ts'

const readPermissions = [
  ...['account:read', 'workspace:read', 'recharge:read', 'transfer:read', 'withdrawal:read'],
  ...['withdrawal-channel:read', 'exchange-rate:read', 'ledger:read', 'audit:read'],
]
const decisionPermissions = [
  ...['account:approve', 'recharge:approve', 'transfer:approve', 'withdrawal:approve', 'withdrawal:settle'],
  'withdrawal-channel:verify',
]

/** The roles of `portico operator create --role`. */
test.each([
  ['administrator', [...operatorPermissions]],
  ['auditor', readPermissions],
  ['approver', [...readPermissions, ...decisionPermissions]],
])('operator create: role %s has exactly its permissions', (role, permissions) => {
  const granted = operatorPermissions.filter((permission) => operatorRoles[role]?.(permission))
  expect(granted.toSorted()).toEqual(permissions.toSorted())
})
