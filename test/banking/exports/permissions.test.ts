import { expect, test } from 'vitest'
import { listExchanges } from '../../../src/banking/exchanges/contract.ts'
import { exportType } from '../../../src/banking/exports/contract.ts'
import { assertListPermission } from '../../../src/banking/exports/service.ts'
import { listRecharges } from '../../../src/banking/recharges/contract.ts'
import { listTransfers } from '../../../src/banking/transfers/contract.ts'
import { listFlows } from '../../../src/banking/wallets/contract.ts'
import { listWithdrawals } from '../../../src/banking/withdrawals/contract.ts'
import { bizId, type Permission } from '../../../src/kernel/index.ts'

/** The operation that reads the same data. */
const lists = {
  FLOWS: listFlows,
  TRANSFERS: listTransfers,
  EXCHANGES: listExchanges,
  RECHARGES: listRecharges,
  WITHDRAWALS: listWithdrawals,
}

function allowedBy(...permissions: Permission[]): string[] {
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
