import { z } from 'zod'
import { portNames } from '../api/ports.ts'
import { eventTypePattern } from '../contract/events/event.ts'
import { isLifeCycle } from '../contract/ledger/life-cycle.ts'
import { permissionMarks } from '../contract/permissions.ts'
import { PolicyShape, permissionMarkShape, RateGroupsShape } from '../contract/policy-shape.ts'
import { chains, isRecord, methods, type Operation, passThroughReplies } from '../kernel/index.ts'

const zodSchema = z.instanceof(z.ZodType, { error: 'must be a zod schema of portico/contract' })

export const Actions = z.array(named(/^[a-z][a-z-]*$/, 'create')).min(1)

const markedActions = z
  .strictObject({ actions: Actions, ...permissionMarkShape })
  .superRefine(({ actions: all, ...marks }, context) => {
    for (const mark of permissionMarks)
      if (marks[mark]?.some((action) => !all.includes(action)))
        context.addIssue({ code: 'custom', message: `${mark}: must list only names in \`actions\`` })
  })
const code = named(/^[A-Z][A-Z0-9_]*\.[A-Z][A-Z0-9_]*$/, 'LOAN.NOT_ELIGIBLE')

const byteReplies = ['stream', ...passThroughReplies] as const

const OperationShape = z.strictObject({
  id: z.string(),
  method: z.enum(methods),
  path: named(/^(\/([a-z0-9-]+|\{\w+\}))+$/, '/loans/{loan_id}'),
  chains: z.array(z.enum(Object.keys(chains))).min(1),
  summary: z.string().min(1).max(60),
  description: z.string().min(1).max(2_000).optional(),
  examples: z
    .strictObject({
      params: z.record(z.string(), z.string()).optional(),
      query: z.record(z.string(), z.string()).optional(),
      body: z.json().optional(),
      reply: z.json().optional(),
    })
    .optional(),
  policy: PolicyShape,
  params: z.record(z.string(), zodSchema).optional(),
  malformedParam: code.optional(),
  query: zodSchema.optional(),
  body: z.union([zodSchema, z.enum(['none', 'multipart', 'raw'])], {
    error: "must be a zod schema of portico/contract, 'none', 'multipart' or 'raw'",
  }),
  withoutEntry: z.literal(true).optional(),
  auditsRefusals: z.literal(true).optional(),
  confirms: z.array(z.string()).optional(),
  purpose: z.custom<Operation['purpose']>((value) => typeof value === 'function', 'must be a function').optional(),
  malformedBody: code.optional(),
  machineParams: z.record(z.string(), z.string().regex(/^\w+$/, 'must be a name such as loanBizId')).optional(),
  reply: z.union([zodSchema, z.enum(byteReplies)], {
    error: `must be a zod schema of portico/contract, or ${byteReplies.map((kind) => `'${kind}'`).join(', ')}`,
  }),
  refuses: z.array(code),
  emits: z.array(named(eventTypePattern, 'loan.granted')).optional(),
})

const reservedNames: readonly string[] = ['summary', 'codes', 'permissions', 'rateGroups', 'ledgerTypes', 'events']
const operationName = named(/^[a-z][A-Za-z0-9]*$/, 'applyForLoan').refine(
  (name) => !reservedNames.includes(name),
  'is a reserved name; choose another one',
)

const typeName = named(/^[A-Z][A-Z0-9_]{1,31}$/, 'LOAN_PAYOUT')
const OrderTypeShape = z.strictObject({
  prefix: named(/^[A-Z]{3}$/, 'LON'),
  open: z.array(typeName),
  final: z.array(typeName).min(1),
  outgoing: z.boolean().optional(),
})
const LedgerShape = z.strictObject({
  orders: z.record(typeName, z.preprocess(withoutLifeCycle, OrderTypeShape)).optional(),
  flowTypes: z.record(typeName, z.int().positive()).optional(),
  houseAccounts: z
    .array(typeName.refine((name) => name !== 'WALLET', 'is a reserved name; choose another one'))
    .optional(),
})

const eventType = named(eventTypePattern, 'loan.granted')
const permission = named(/^[a-z][a-z-]*:[a-z][a-z-]*$/, 'loan:read')
const EventsShape = z.record(
  eventType,
  z.strictObject({
    summary: z.string().min(1).max(120),
    data: zodSchema,
    audience: z.enum(['workspace', 'operators']),
    permission,
    operatorPermission: permission.nullable().optional(),
  }),
)

const directory = z.instanceof(URL).refine(({ protocol }) => protocol === 'file:', 'must be the URL of a directory')

const tree = z.record(z.string(), z.unknown())
const Needs = z
  .array(z.enum(portNames, { error: ({ input }) => `'${input}' is not one of the ports ${portNames.join(', ')}` }))
  .superRefine((names, context) => {
    for (const [index, name] of names.entries())
      if (names.indexOf(name) < index)
        context.addIssue({ code: 'custom', path: [index], message: `lists ${name} twice; remove one` })
  })

/** The fields that `domain` of portico takes. */
export const Definition = z.strictObject({
  name: named(/^[a-z][A-Za-z0-9]{1,31}$/, 'loans'),
  summary: z.string().min(1),
  operations: z.record(operationName, OperationShape),
  permissions: z
    .strictObject({
      workspace: groupsOf(z.union([Actions, markedActions])).optional(),
      operator: groupsOf(z.union([Actions, markedActions])).optional(),
    })
    .optional(),
  rateGroups: RateGroupsShape.optional(),
  codes: z.record(code, z.strictObject({ status: z.int().min(400).max(499) })).optional(),
  before: z
    .record(named(/^[a-z][A-Za-z0-9]*\.[A-Za-z0-9]+$/, 'transfers.create'), z.custom(isFunction, 'must be a function'))
    .optional(),
  codedValues: z
    .record(named(/^[a-z][A-Za-z0-9]*$/, 'loanStatus'), z.record(named(/^[A-Z][A-Z0-9_]*$/, 'PAID_OUT'), z.int()))
    .optional(),
  ledger: LedgerShape.optional(),
  events: EventsShape.optional(),
  on: z.record(eventType, z.custom(isFunction, 'must be a function')).optional(),
  locales: directory.optional(),
  mails: z
    .strictObject({
      directory,
      templates: z.record(named(/^[a-z][a-z-]*$/, 'loan-approved'), z.array(named(/^\w+$/, 'amount'))),
    })
    .optional(),
  ownerNotices: z.array(typeName).optional(),
  settings: zodSchema.optional(),
  settingsKey: named(/^[a-z]\w*(\.[a-z]\w*)*$/, 'money.loans').optional(),
  defaults: tree.optional(),
  profileDefaults: z.strictObject({ development: tree.optional(), production: tree.optional() }).optional(),
  checkSettings: z.custom(isFunction, 'must be a function').optional(),
  productionRules: z.record(z.string(), z.enum(['maximum', 'minimum', 'fixed'])).optional(),
  migrations: z
    .array(
      z.strictObject({
        name: z.string(),
        up: z.custom(isFunction, 'must be a function'),
        checksum: z.string().optional(),
      }),
    )
    .optional(),
  keyedColumns: z
    .strictObject({ sealed: z.array(z.custom<object>(isRecord)), digests: z.array(z.custom<object>(isRecord)) })
    .optional(),
  uses: z.array(z.string()).optional(),
  needs: Needs.optional(),
  contract: z.custom<object>(isRecord, 'must be a module').optional(),
  create: z.custom(isFunction, 'must be a function'),
})

function named(pattern: RegExp, example: string) {
  return z.string().regex(pattern, `must be a name such as ${example}`)
}

function groupsOf<Shape extends z.ZodType>(shape: Shape) {
  return z.record(named(/^[a-z][a-z-]*$/, 'loan'), shape)
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

/** `orderType` has checked the other fields. */
function withoutLifeCycle(type: unknown): unknown {
  if (!isLifeCycle(type)) return type
  const { prefix, open, final, outgoing } = type
  return { prefix, open, final, outgoing }
}
