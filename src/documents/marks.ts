import { z } from 'zod'
import type { Catalogue } from '../contract/index.ts'
import { marksOf, type PermissionRow } from '../contract/permissions.ts'
import { PolicyShape, permissionMarkShape, RateGroupsShape } from '../contract/policy-shape.ts'
import { canDemandStepUp } from '../contract/step-up-purpose.ts'
import {
  type ConfirmedTexts,
  chainIds,
  confirmedNames,
  isPassThrough,
  type Operation,
  type Purpose,
  passThroughReplies,
  type RateRule,
  type RateRules,
} from '../kernel/index.ts'

/** The value of `x-portico` in an operation. */
export const OperationMarks = z.strictObject({
  id: z.string().regex(/^[a-z][A-Za-z0-9]*\.[A-Za-z0-9]+$/, 'must be a domain and a name, such as loans.apply'),
  /** Method name in the typed client. */
  name: z.string().regex(/^[a-z][A-Za-z0-9]*$/, 'must be a name such as applyForLoan'),
  /** Below the chain's prefix. Default: the path in the document. */
  path: z.string().startsWith('/').optional(),
  chains: z.array(z.enum(chainIds)).min(1),
  policy: PolicyShape,
  refuses: z.array(z.string()).default([]),
  malformedParam: z.string().optional(),
  malformedBody: z.string().optional(),
  /** Names of path parameters on the machine chain, by their name in `path`. */
  machineParams: z.record(z.string(), z.string()).optional(),
  withoutEntry: z.literal(true).optional(),
  auditsRefusals: z.literal(true).optional(),
  /** The fields that a step-up confirms. Default: the path parameters. */
  confirms: z.array(z.string()).optional(),
  /** Default: the responses determine it. */
  reply: z.enum(passThroughReplies).optional(),
  /** The domains whose hooks can refuse the command. For readers only: another gateway does not run them. */
  before: z.array(z.string()).optional(),
  /** Only for readers: a service records no events. */
  emits: z.array(z.string()).optional(),
})
export type OperationMarks = z.output<typeof OperationMarks>

/** The component of the query parameter that a gateway reads itself. */
export const ticketComponent = 'Ticket'

const PermissionGroups = z.record(
  z.string(),
  // A list of actions has no marks.
  z.preprocess(
    (group) => (Array.isArray(group) ? { actions: group } : group),
    z.strictObject({ actions: z.array(z.string()).min(1), ...permissionMarkShape }),
  ),
)

/** The value of `x-portico` in the root of a document. */
export const RootMarks = z.strictObject({
  /** Descriptions of the domains. */
  domains: z.record(z.string(), z.string().min(1)),
  permissions: z
    .strictObject({ workspace: PermissionGroups.optional(), operator: PermissionGroups.optional() })
    .default({}),
  rateGroups: RateGroupsShape.default({}),
  codes: z.record(z.string(), z.strictObject({ status: z.int() })).default({}),
  /** Texts by language, with the keys of the files in `locales`. Only `en` is required. */
  texts: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
  /** The domains that react to an event, by type. For readers only: another gateway does not run them. */
  reactions: z.record(z.string(), z.array(z.string())).optional(),
})
export type RootMarks = z.output<typeof RootMarks>

/** Returns the value of `x-portico` for an operation. */
export function operationMarks(operation: Operation, name: string) {
  const { id, path, chains: ids, policy, refuses, malformedParam, malformedBody } = operation
  const { machineParams, withoutEntry, auditsRefusals, reply, before } = operation
  return {
    id,
    name,
    path,
    chains: [...ids],
    policy: { ...policy },
    refuses: [...refuses],
    ...(malformedParam === undefined ? {} : { malformedParam }),
    ...(malformedBody === undefined ? {} : { malformedBody }),
    ...(machineParams && { machineParams: { ...machineParams } }),
    ...(withoutEntry && { withoutEntry }),
    ...(auditsRefusals && { auditsRefusals }),
    ...(canDemandStepUp(operation) && { confirms: [...confirmedNames(operation)] }),
    ...(isPassThrough(operation) && typeof reply === 'string' && { reply }),
    ...(before && { before: [...before] }),
  }
}

/** Texts by language, nested like the files in `locales`. */
export type NestedTexts = Record<string, Record<string, NestedText>>
type NestedText = string | { [name: string]: NestedText }

/** Returns `x-portico` of the document of a catalogue. `texts` are those that other gateways lack. */
export function rootMarks(
  { summaries, permissionTable, rateGroups, codes, statusOf, events }: Catalogue,
  texts: NestedTexts = {},
) {
  const reactions = [...events].flatMap(([type, row]) => (row.reactions?.length ? [[type, row.reactions]] : []))
  return {
    domains: Object.fromEntries([...summaries].filter(([, summary]) => summary !== '')),
    permissions: { workspace: toGroups(permissionTable.workspace), operator: toGroups(permissionTable.operator) },
    ...(rateGroups.size > 0 && {
      rateGroups: Object.fromEntries([...rateGroups].map(([name, rules]) => [name, toRateRules(rules)])),
    }),
    codes: Object.fromEntries(codes.map((code) => [code, { status: statusOf(code) }])),
    ...(Object.keys(texts).length > 0 && { texts }),
    ...(reactions.length > 0 && { reactions: Object.fromEntries(reactions) }),
  }
}

/** A document has no functions. Its confirmed fields get their meaning from their names. */
export function purposeByNames({ ...confirmed }: ConfirmedTexts): Purpose {
  const { amount, currency, email, roleBizId, userBizId, account_id, withdrawalChannelBizId, withdrawal_channel_id } =
    confirmed
  const { sourceWalletBizId, targetWalletBizId, walletBizId, wallet_id } = confirmed
  return {
    amount,
    currency,
    wallet: sourceWalletBizId ?? walletBizId ?? wallet_id,
    role: roleBizId,
    payee: {
      withdrawalChannel: withdrawalChannelBizId ?? withdrawal_channel_id,
      wallet: targetWalletBizId,
      account: userBizId ?? account_id,
      email,
    },
  }
}

function toGroups(rows: Catalogue['permissionTable']['workspace']) {
  const groups: Record<string, ReturnType<typeof marksOf> & { actions: string[] }> = {}
  for (const [group, members] of Map.groupBy(rows, ({ group }) => group)) {
    const actionsThat = (isIncluded: (row: PermissionRow) => boolean) =>
      members.filter(isIncluded).map(({ action }) => action)
    groups[group] = {
      actions: actionsThat(() => true),
      ...marksOf({
        peopleOnly: actionsThat(({ isPeopleOnly }) => isPeopleOnly),
        powers: actionsThat(({ isPower, isPayout }) => isPower && !isPayout),
        payouts: actionsThat(({ isPayout }) => isPayout),
      }),
    }
  }
  return groups
}

function toRateRules(rules: RateRules) {
  return Object.fromEntries(
    Object.entries(rules).flatMap(([scope, rule]: [string, RateRule | undefined]) =>
      rule ? [[scope, { limit: rule.limit, windowMs: rule.windowMs }]] : [],
    ),
  )
}
