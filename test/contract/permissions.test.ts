import { expect, test } from 'vitest'
import { createRole } from '../../src/banking/roles/contract.ts'
import {
  assertDeclaredPermissions,
  assertKnownPermissions,
  collectPermissions,
} from '../../src/contract/permissions.ts'
import { Refusal } from '../../src/kernel/index.ts'

const loans = {
  permissions: { workspace: { loan: { sortOrder: 200, actions: ['read', 'create'], payouts: ['create'] } } },
}
const savings = { permissions: { workspace: { saving: { sortOrder: 100, actions: ['read'], peopleOnly: ['read'] } } } }
const plain = { isPeopleOnly: false, isPower: false, isPayout: false }

test('permissions: the table follows the declared order, not the order of the owners', () => {
  expect(collectPermissions({ loans, savings }, 'workspace')).toEqual([
    { ...plain, code: 'saving:read', group: 'saving', action: 'read', sortOrder: 100, isPeopleOnly: true },
    { ...plain, code: 'loan:read', group: 'loan', action: 'read', sortOrder: 200 },
    { ...plain, code: 'loan:create', group: 'loan', action: 'create', sortOrder: 201, isPower: true, isPayout: true },
  ])
  expect(collectPermissions({ loans, savings }, 'operator')).toEqual([])
})

test('permissions: one that two owners declare is an error that names both', () => {
  expect(() => collectPermissions({ loans, credits: loans }, 'workspace')).toThrow(
    'permissions.workspace.loan: workspace permission loan:read is declared by loans and by credits',
  )
})

test('permissions: a policy that requires an undeclared one is an error that names operation, owner, file and line', () => {
  const declared = { workspacePermissions: ['loan:read'], operatorPermissions: ['role:manage'] } as const
  expect(() => assertDeclaredPermissions({ people: { createRole } }, declared)).toThrow(
    /^operations\.createRole\.policy\.permission: roles\.create of people requires role:manage, which no owner declares in permissions\.workspace; add it there \(.*\/src\/banking\/roles\/contract\.ts:\d+:\d+\)$/,
  )
  const complete = { ...declared, workspacePermissions: ['role:manage'] } as const
  expect(() => assertDeclaredPermissions({ people: { createRole } }, complete)).not.toThrow()
})

test('permissions in a request: the first unknown code is named by its field and index', () => {
  const refusal = (codes: string[]): unknown => {
    try {
      return assertKnownPermissions(codes, ['loan:read', 'loan:create'])
    } catch (error) {
      return error
    }
  }
  expect(refusal(['loan:create', 'loan:read'])).toBeUndefined()
  const refused = refusal(['loan:read', 'loan:approve', '*'])
  expect(refused).toBeInstanceOf(Refusal)
  expect(refused).toMatchObject({ code: 'VALIDATION.INVALID_PARAMETER', detail: { field: 'permissionCodes.1' } })
})
