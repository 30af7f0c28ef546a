import { z } from 'zod'
import { days } from '../kernel/index.ts'
import { lifetimeMs } from './values.ts'

const count = z.int().min(1)

const invitations = z.strictObject({
  lifeMs: lifetimeMs(days(1)).multipleOf(days(1)).describe('Lifetime of an invitation in milliseconds. Whole days.'),
  maxPending: count.max(500).describe('Maximum number of pending invitations per workspace.'),
  maxPerDay: count.describe(
    'Maximum number of invitations within 24 hours per workspace, and per inviting account over all its workspaces.',
  ),
  maxPerDayToAddress: count.describe('Maximum number of invitations within 24 hours to one address.'),
})

const apiKeys = z.strictObject({
  maxPerWorkspace: count.describe('Maximum number of API keys per workspace. Deleted keys do not count.'),
  maxLifeMs: lifetimeMs(60_000)
    .nullable()
    .describe('Maximum lifetime of a new API key in milliseconds, and the default. `null` sets no maximum.'),
})

export const accessSettings = z.strictObject({
  leaseMs: z
    .int()
    .min(0)
    .max(5_000)
    .describe(
      'Time in milliseconds that a replica on PostgreSQL caches a membership. A change of permissions is answered after that time, so use the same value on all replicas.',
    ),
  invitations,
  apiKeys,
  workspaces: z.strictObject({
    maxPerAccount: count.describe('Maximum number of workspaces that an account belongs to.'),
  }),
  roles: z.strictObject({ maxPerWorkspace: count.describe('Maximum number of roles per workspace, including OWNER.') }),
})
