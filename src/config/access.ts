import { z } from 'zod'
import { days } from '../kernel/index.ts'
import { lifetimeMs } from './values.ts'

const count = z.int().min(1)

const invitations = z.strictObject({
  lifeMs: lifetimeMs(days(1)).multipleOf(days(1)).describe('How long one waits for its answer: whole days.'),
  maxPending: count.max(500).describe('Of one workspace at once.'),
  maxPerDay: count.describe(
    'Of one workspace within 24 hours, and of one account from all of its workspaces: they are mails to strangers.',
  ),
  maxPerDayToAddress: count.describe('Of those, to one address.'),
})

const apiKeys = z.strictObject({
  maxPerWorkspace: count.describe('That are not deleted.'),
  maxLifeMs: lifetimeMs(60_000)
    .nullable()
    .describe('The longest life of a new one, which is also what it gets when none is asked for; null: unbounded.'),
})

export const accessSettings = z.strictObject({
  leaseMs: z
    .int()
    .min(0)
    .max(5_000)
    .describe(
      'How long a replica on PostgreSQL goes by a membership that it has read; a change of rights waits as long before it is answered, so that it is to be the same at all replicas.',
    ),
  invitations,
  apiKeys,
  workspaces: z.strictObject({
    maxPerAccount: count.describe('That an account belongs to, however it came to them.'),
  }),
  roles: z.strictObject({ maxPerWorkspace: count.describe('The OWNER role among them.') }),
})
