import { expect, test } from 'vitest'
import { operatorPermissions } from '../../../src/contract/index.ts'
import { operatorRoles } from '../../../src/domains/operators/index.ts'

const reading = [
  ...['account:read', 'workspace:read', 'recharge:read', 'transfer:read', 'withdrawal:read'],
  ...['withdrawal-channel:read', 'exchange-rate:read', 'ledger:read', 'audit:read'],
]
const deciding = [
  ...['account:approve', 'recharge:approve', 'transfer:approve', 'withdrawal:approve', 'withdrawal:settle'],
  'withdrawal-channel:verify',
]

/** Whom `portico operator create --role` makes. */
test.each([
  ['administrator', [...operatorPermissions]],
  ['auditor', reading],
  ['approver', [...reading, ...deciding]],
])('operator create: an operator who is %s has the rights of one, and no other', (role, rights) => {
  const held = operatorPermissions.filter((permission) => operatorRoles[role]?.(permission))
  expect(held.toSorted()).toEqual(rights.toSorted())
})
