import { z } from 'zod'
import type { Catalogue } from '../contract/index.ts'
import { chainIds, type Operation, type Policy, rateGroups } from '../kernel/index.ts'

/** The shape of a policy. Every key is required. */
export const PolicyShape = z.strictObject({
  caller: z.enum(['anonymous', 'account']),
  workspace: z.enum(['none', 'optional', 'required']),
  permission: z
    .templateLiteral([z.string(), ':', z.string()], 'must be a permission such as loan:create')
    .refine((text) => /^[a-z][a-z-]*:[a-z][a-z-]*$/.test(text), 'must be a permission such as loan:create')
    .nullable(),
  stepUp: z.boolean(),
  channel: z.enum(['none', 'optional']),
  rate: z.enum(rateGroups),
  idempotent: z.boolean(),
  changesRights: z.boolean(),
}) satisfies z.ZodType<Policy>

/** `x-portico` of an operation. */
export const OperationMarks = z.strictObject({
  /** `<domain>.<name>`. */
  id: z.string().regex(/^[a-z][A-Za-z0-9]*\.[A-Za-z0-9]+$/, 'must be a domain and a name, such as loans.apply'),
  /** The name of the method in the typed client. */
  name: z.string().regex(/^[a-z][A-Za-z0-9]*$/, 'must be a name such as applyForLoan'),
  /** The path below the prefix of the chain. By default the path of the document. */
  path: z.string().startsWith('/').optional(),
  chains: z.array(z.enum(chainIds)).min(1),
  policy: PolicyShape,
  refuses: z.array(z.string()).default([]),
  malformedParam: z.string().optional(),
  malformedBody: z.string().optional(),
})
export type OperationMarks = z.output<typeof OperationMarks>

const PermissionGroups = z.record(
  z.string(),
  z.strictObject({ actions: z.array(z.string()).min(1), peopleOnly: z.array(z.string()).optional() }),
)

/** `x-portico` of a document. */
export const RootMarks = z.strictObject({
  /** The description of each domain, by its name. */
  domains: z.record(z.string(), z.string().min(1)),
  permissions: z
    .strictObject({ workspace: PermissionGroups.optional(), operator: PermissionGroups.optional() })
    .default({}),
  codes: z.record(z.string(), z.strictObject({ status: z.int() })).default({}),
  /** Texts by language, with the keys of config/locales. Only `en` is required. */
  texts: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
})
export type RootMarks = z.output<typeof RootMarks>

/** Returns `x-portico` of an operation. */
export const operationMarks = (operation: Operation, name: string) => {
  const { id, path, chains: ids, policy, refuses, malformedParam, malformedBody } = operation
  return {
    id,
    name,
    path,
    chains: [...ids],
    policy: { ...policy },
    refuses: [...refuses],
    ...(malformedParam === undefined ? {} : { malformedParam }),
    ...(malformedBody === undefined ? {} : { malformedBody }),
  }
}

const toGroups = (rows: Catalogue['permissionTable']['workspace']) => {
  const groups: Record<string, { actions: string[]; peopleOnly?: string[] }> = {}
  for (const { code, group, isPeopleOnly } of rows) {
    const action = code.slice(group.length + 1)
    const { actions = [], peopleOnly = [] } = groups[group] ?? {}
    const all = isPeopleOnly ? [...peopleOnly, action] : peopleOnly
    groups[group] = { actions: [...actions, action], ...(all.length > 0 && { peopleOnly: all }) }
  }
  return groups
}

/** Returns `x-portico` of the document of a catalogue. Texts are left out: every gateway has its own. */
export const rootMarks = ({ summaries, permissionTable, codes, statusOf }: Catalogue) => ({
  domains: Object.fromEntries([...summaries].filter(([, summary]) => summary !== '')),
  permissions: { workspace: toGroups(permissionTable.workspace), operator: toGroups(permissionTable.operator) },
  codes: Object.fromEntries(codes.map((code) => [code, { status: statusOf(code) }])),
})
