import * as z from 'zod'
import { timestamp } from '../../contract/fields.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'

export const summary = 'Reset of a sandbox workspace.'

export const permissions = {
  workspace: { sandbox: { sortOrder: 1400, actions: ['reset'], peopleOnly: ['reset'] } },
} as const satisfies Permissions

export const resetSandbox = operation({
  id: 'sandbox.reset',
  method: 'POST',
  path: '/sandbox/reset',
  chains: ['consumer'],
  summary: 'Reset a sandbox workspace to its initial state',
  policy: { ...member, workspace: 'optional', permission: 'sandbox:reset' },
  body: 'none',
  reply: z.object({ success: z.boolean(), resetAt: timestamp }),
  // The moves by `sandbox` of the order types.
  emits: ['transfer.failed', 'recharge.cancelled', 'withdrawal.cancelled', 'withdrawal.failed'],
  refuses: [],
})
