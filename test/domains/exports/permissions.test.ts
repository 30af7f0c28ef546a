import { expect, test } from 'vitest'
import { listExchanges } from '../../../src/domains/exchanges/contract.ts'
import { exportType } from '../../../src/domains/exports/contract.ts'
import { assertListPermission } from '../../../src/domains/exports/service.ts'
import { listRecharges } from '../../../src/domains/recharges/contract.ts'
import { listTransfers } from '../../../src/domains/transfers/contract.ts'
import { listFlows } from '../../../src/domains/wallets/contract.ts'
import { listWithdrawals } from '../../../src/domains/withdrawals/contract.ts'
import { bizId, type Permission } from '../../../src/kernel/index.ts'

/** The operation that reads the same data. */
const lists = {
  FLOWS: listFlows,
  TRANSFERS: listTransfers,
  EXCHANGES: listExchanges,
  RECHARGES: listRecharges,
  WITHDRAWALS: listWithdrawals,
}

const allowedBy = (...permissions: Permission[]): string[] => {
  const workspace = { id: bizId<'workspace'>('w'), isOwner: false, permissions: new Set(permissions) }
  return exportType.codes.filter((type) => {
    try {
      assertListPermission(type, workspace)
      return true
    } catch {
      return false
    }
  })
}

test('exports.create 403 ACCESS.PERMISSION_DENIED: requires the permission of the list', () => {
  expect(allowedBy()).toEqual(['LOGIN_HISTORY'])
  for (const [type, { policy }] of Object.entries(lists))
    expect(policy.permission && allowedBy(policy.permission), type).toEqual([type, 'LOGIN_HISTORY'])
})
