import * as z from 'zod'
import type { Policy, RateGroups } from '../kernel/index.ts'

const rateGroupName = z.string().regex(/^[a-z][A-Za-z0-9]*$/, 'must be a name such as loanApplications')
const RateRuleShape = z.strictObject({ limit: z.int().min(1), windowMs: z.int().min(1_000) })

export const RateGroupsShape = z.record(
  rateGroupName,
  z
    .strictObject({
      address: RateRuleShape.optional(),
      account: RateRuleShape.optional(),
      network: RateRuleShape.optional(),
      total: RateRuleShape.optional(),
    })
    .refine((rules) => Object.keys(rules).length > 0, 'must have at least one of address, account, network and total'),
) satisfies z.ZodType<RateGroups>

const actionList = z.array(z.string()).optional()

export const permissionMarkShape = { peopleOnly: actionList, powers: actionList, payouts: actionList }

export const PolicyShape = z.strictObject({
  caller: z
    .enum(['anonymous', 'account'])
    .describe('`account` requires a live session, or an API key on the api chain. `anonymous` ignores tokens.'),
  workspace: z
    .enum(['none', 'optional', 'required'])
    .describe(
      'Whether the `X-Workspace-Id` header is ignored (`none`), defaults to the account’s default workspace (`optional`), or is required.',
    ),
  permission: z
    .templateLiteral([z.string(), ':', z.string()], 'must be a permission such as loan:create')
    .refine((text) => /^[a-z][a-z-]*:[a-z][a-z-]*$/.test(text), 'must be a permission such as loan:create')
    .nullable()
    .describe('Permission that the caller needs, such as `loan:create`. `null` if authentication is enough.'),
  stepUp: z
    .union([z.boolean(), z.literal('maybe')])
    .describe('Whether a recent second factor is required. With `maybe`, the handler or service decides.'),
  channel: z.enum(['none', 'optional']),
  rate: rateGroupName.describe('Rate limit group of `limits.groups` that the requests count towards.'),
  idempotent: z.boolean(),
  changesRights: z.boolean(),
}) satisfies z.ZodType<Policy>
