import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { actionsOf, type Domain } from '../api/domain.ts'
import type { LedgerTypes } from '../contract/ledger-types.ts'
import { passThroughErrors } from '../contract/pass-through.ts'
import { permissionMarks } from '../contract/permissions.ts'
import { PolicyShape, permissionMarkShape, RateGroupsShape } from '../contract/policy-shape.ts'
import { assertNumbered } from '../database/index.ts'
import { slowPatternErrors } from '../documents/index.ts'
import {
  callSiteOf,
  chains,
  fallbackLocale,
  isRecord,
  keepCallSite,
  type Locale,
  locales,
  messageOf,
  type Operation,
  passThroughReplies,
  withCallSite,
} from '../kernel/index.ts'
import { endedStatuses } from '../ledger/index.ts'
import { readTexts } from '../platform/i18n/index.ts'
import { areTextsKnown, repairDomain } from './repair.ts'

const zodSchema = z.instanceof(z.ZodType, { error: 'must be a zod schema of portico/contract' })
const named = (pattern: RegExp, example: string) => z.string().regex(pattern, `must be a name such as ${example}`)
const actions = z.array(named(/^[a-z][a-z-]*$/, 'create')).min(1)
const groupsOf = <Shape extends z.ZodType>(shape: Shape) => z.record(named(/^[a-z][a-z-]*$/, 'loan'), shape)
const markedActions = z
  .strictObject({ actions, ...permissionMarkShape })
  .superRefine(({ actions: all, ...marks }, context) => {
    for (const mark of permissionMarks)
      if (marks[mark]?.some((action) => !all.includes(action)))
        context.addIssue({ code: 'custom', message: `${mark}: must list only names in \`actions\`` })
  })
const code = named(/^[A-Z][A-Z0-9_]*\.[A-Z][A-Z0-9_]*$/, 'LOAN.NOT_ELIGIBLE')

const OperationShape = z.strictObject({
  id: z.string(),
  method: z.enum(['GET', 'POST']),
  path: named(/^(\/([a-z0-9-]+|\{\w+\}))+$/, '/loans/{loan_id}'),
  chains: z.array(z.enum(Object.keys(chains))).min(1),
  summary: z.string().min(1).max(60),
  policy: PolicyShape,
  params: z.record(z.string(), zodSchema).optional(),
  malformedParam: code.optional(),
  query: zodSchema.optional(),
  body: z.union([zodSchema, z.enum(['none', 'raw'])], {
    error: "must be a zod schema of portico/contract, 'none' or 'raw'",
  }),
  withoutEntry: z.literal(true).optional(),
  auditsRefusals: z.literal(true).optional(),
  confirms: z.array(z.string()).optional(),
  malformedBody: code.optional(),
  machineParams: z.record(z.string(), z.string().regex(/^\w+$/, 'must be a name such as loanBizId')).optional(),
  reply: z.union([zodSchema, z.enum(passThroughReplies)], {
    error: `must be a zod schema of portico/contract, or ${passThroughReplies.map((kind) => `'${kind}'`).join(', ')}`,
  }),
  refuses: z.array(code),
})

const reservedNames: readonly string[] = ['summary', 'codes', 'permissions', 'rateGroups', 'ledgerTypes']
const operationName = named(/^[a-z][A-Za-z0-9]*$/, 'applyForLoan').refine(
  (name) => !reservedNames.includes(name),
  'is reserved',
)

const typeName = named(/^[A-Z][A-Z0-9_]{1,31}$/, 'LOAN_PAYOUT')
const LedgerShape = z.strictObject({
  orders: z
    .record(
      typeName,
      z.strictObject({
        prefix: named(/^[A-Z]{3}$/, 'LON'),
        open: z.array(typeName),
        final: z.array(typeName).min(1),
        outgoing: z.boolean().optional(),
      }),
    )
    .optional(),
  flowTypes: z.record(typeName, z.int().positive()).optional(),
  houseAccounts: z.array(typeName.refine((name) => name !== 'WALLET', 'is reserved')).optional(),
})

const directory = z.instanceof(URL).refine(({ protocol }) => protocol === 'file:', 'must be the URL of a directory')

const isFunction = (value: unknown): boolean => typeof value === 'function'

const Definition = z.strictObject({
  name: named(/^[a-z][A-Za-z0-9]{1,31}$/, 'loans'),
  summary: z.string().min(1),
  operations: z.record(operationName, OperationShape),
  permissions: z
    .strictObject({
      workspace: groupsOf(z.union([actions, markedActions])).optional(),
      operator: groupsOf(z.union([actions, markedActions])).optional(),
    })
    .optional(),
  rateGroups: RateGroupsShape.optional(),
  codes: z.record(code, z.strictObject({ status: z.int().min(400).max(499) })).optional(),
  codedValues: z
    .record(named(/^[a-z][A-Za-z0-9]*$/, 'loanStatus'), z.record(named(/^[A-Z][A-Z0-9_]*$/, 'PAID_OUT'), z.int()))
    .optional(),
  ledger: LedgerShape.optional(),
  locales: directory.optional(),
  mails: z
    .strictObject({
      directory,
      templates: z.record(named(/^[a-z][a-z-]*$/, 'loan-approved'), z.array(named(/^\w+$/, 'amount'))),
    })
    .optional(),
  settings: zodSchema.optional(),
  migrations: z.array(z.strictObject({ name: z.string(), up: z.custom(isFunction, 'must be a function') })).optional(),
  keyedColumns: z
    .strictObject({ sealed: z.array(z.custom<object>(isRecord)), digests: z.array(z.custom<object>(isRecord)) })
    .optional(),
  uses: z.array(z.string()).optional(),
  contract: z.custom<object>(isRecord, 'must be a module').optional(),
  create: z.custom(isFunction, 'must be a function'),
})

/** Returns the keys of `en.yaml` that the declarations of a domain require. */
const requiredTexts = ({ codes = {}, permissions = {}, codedValues = {}, ledger = {} }: Domain): string[] => [
  ...Object.keys(codes).map((name) => `refusal.${name}`),
  ...Object.values(permissions).flatMap((scope = {}) =>
    Object.entries(scope).flatMap(([group, declared]) =>
      actionsOf(declared).actions.flatMap((action) => [
        `permission.${group}:${action}.name`,
        `permission.${group}:${action}.description`,
      ]),
    ),
  ),
  ...Object.entries({ ...codedValues, ...(ledger.flowTypes && { flowType: ledger.flowTypes }) }).flatMap(
    ([family, values]) =>
      Object.keys(values).flatMap((name) => [`coded.${family}.${name}.label`, `coded.${family}.${name}.description`]),
  ),
]

/** Keys of declarations. Handlers can use any other text by its key. */
const declared = /^(refusal|permission|coded)\./

interface TextFile {
  locale: Locale
  path: string
  keys: readonly string[]
}

const readTextFiles = (folder: string): { files: TextFile[]; errors: string[] } => {
  const files: TextFile[] = []
  const errors: string[] = []
  for (const locale of locales) {
    const path = join(folder, `${locale}.yaml`)
    if (existsSync(path))
      try {
        files.push({ locale, path, keys: Object.keys(readTexts(folder, locale)) })
      } catch (error) {
        errors.push(`locales: ${messageOf(error)}`)
      }
    else if (locale === fallbackLocale) errors.push(`locales: ${path} does not exist`)
  }
  return { files, errors }
}

/** A text without a declaration has a misspelt key. */
const unusedTexts = ({ path, keys }: TextFile, used: ReadonlySet<string>): string[] =>
  keys
    .filter((key) => declared.test(key) && !used.has(key.replace(/_field$/, '')))
    .map((key) => `locales: ${path} has the text ${key}, which belongs to no declaration`)

const missingTexts = ({ path, keys }: TextFile, required: readonly string[]): string[] =>
  required.filter((key) => !keys.includes(key)).map((key) => `locales: ${path} has no text ${key}`)

const checkTexts = (domain: Domain, areAllKnown: boolean): { errors: string[]; areReadable: boolean } => {
  const required = requiredTexts(domain)
  if (!domain.locales) {
    const errors = required.length === 0 ? [] : [`locales: is missing, but ${required[0]} needs a text`]
    return { errors, areReadable: true }
  }
  const { files, errors } = readTextFiles(fileURLToPath(domain.locales))
  const used = new Set(required)
  const others = files.flatMap((file) => [
    ...(file.locale === fallbackLocale ? missingTexts(file, required) : []),
    // `contract` declares what `requiredTexts` reads from the fields.
    ...(areAllKnown && !domain.contract ? unusedTexts(file, used) : []),
  ])
  return { errors: [...errors, ...others], areReadable: errors.length === 0 }
}

const acceptsUnknownFields = (schema: unknown): boolean => {
  if (Array.isArray(schema)) return schema.some(acceptsUnknownFields)
  if (!isRecord(schema)) return false
  const isOpen = schema.type === 'object' && 'properties' in schema && schema.additionalProperties === undefined
  return isOpen || Object.values(schema).some(acceptsUnknownFields)
}

/** OpenAPI needs a JSON Schema, and request schemas must be strict. */
const schemaError = (schema: z.ZodType, io: 'input' | 'output'): string | undefined => {
  try {
    const json = z.toJSONSchema(schema, { io })
    return io === 'input' && acceptsUnknownFields(json) ? 'must be a z.strictObject, as all objects in it' : undefined
  } catch (error) {
    return messageOf(error)
  }
}

const schemaErrors = (key: string, { query, body, reply, params = {} }: Operation): string[] => {
  const requests: [string, unknown][] = [['query', query], ['body', body], ...Object.entries(params)]
  return [...requests, ['reply', reply] as const].flatMap(([field, schema]) => {
    if (!(schema instanceof z.ZodType)) return []
    const error = schemaError(schema, field === 'reply' ? 'output' : 'input')
    const place = `operations.${key}.${field}`
    return [...(error === undefined ? [] : [`${place}: ${error}`]), ...slowPatternErrors(schema, place)]
  })
}

const policyErrors = (key: string, { policy }: Operation): string[] => {
  if (policy.caller === 'account') return []
  const forbidden = {
    workspace: policy.workspace !== 'none',
    permission: policy.permission !== null,
    stepUp: policy.stepUp,
    idempotent: policy.idempotent,
  }
  return Object.entries(forbidden)
    .filter(([, isSet]) => isSet)
    .map(([field]) => `operations.${key}.policy.${field}: needs \`caller: 'account'\``)
}

const migrationErrors = ({ name, migrations = [] }: Domain): string[] => {
  try {
    assertNumbered({ owner: name, migrations })
    return []
  } catch (error) {
    return [`migrations: ${messageOf(error)}`]
  }
}

const ledgerErrors = ({ orders = {} }: LedgerTypes = {}): string[] =>
  Object.entries(orders).flatMap(([name, { open, final }]) => {
    const field = `ledger.orders.${name}`
    return [
      ...open.filter((status) => final.includes(status)).map((status) => `${field}.final: ${status} is open, too`),
      ...open
        .filter((status) => endedStatuses.some((ended) => ended === status))
        .map((status) => `${field}.open: ${status} is always final`),
      ...(open.length > 0 && !final.includes('CANCELLED')
        ? [`${field}.final: CANCELLED is missing; the reset of a sandbox needs it, because the type has open statuses`]
        : []),
    ]
  })

const prefixErrors = ({ name, operations }: Domain): string[] =>
  Object.entries(operations)
    .filter(([, { id }]) => !/^[A-Za-z0-9]+$/.test(id.slice(name.length + 1)) || !id.startsWith(`${name}.`))
    .map(([key]) => `operations.${key}.id: must be ${name}. and a name, such as ${name}.create`)

/** Appends the place of the operation that an error begins with, or else of the domain. */
const withPlace = (error: string, exported: unknown): string => {
  const [, name = ''] = /^operations\.(\w+)/.exec(error) ?? []
  const operations = isRecord(exported) ? exported.operations : undefined
  const place = isRecord(operations) ? operations[name] : undefined
  return callSiteOf(place) === undefined ? withCallSite(error, exported) : withCallSite(error, place)
}

const operationErrors = (key: string, operation: Operation): string[] => [
  ...policyErrors(key, operation),
  ...schemaErrors(key, operation),
  ...passThroughErrors(operation).map(([field, message]) => `operations.${key}.${field}: ${message}`),
]

export interface CheckedDomain {
  /**
   * With neutral values instead of invalid ones. Undefined if the module does not export an object. The name can be
   * empty.
   */
  domain?: Domain
  errors: readonly string[]
}

/** Each error names the field, and the file and line of its declaration. */
export const checkDomain = (exported: unknown): CheckedDomain => {
  const issues = Definition.safeParse(exported).error?.issues ?? []
  const shapeErrors = issues.map(({ path, message }) => `${path.join('.') || 'default export'}: ${message}`)
  if (!isRecord(exported)) return { errors: shapeErrors }
  // The schema has checked each field. The cast adds the types that derive from `operations`.
  const domain = issues.length === 0 ? (exported as unknown as Domain) : repairDomain(exported, issues)
  const hasName = issues.every(({ path }) => path[0] !== 'name')
  const { errors: textErrors, areReadable } = checkTexts(domain, areTextsKnown(issues))
  const errors = [
    ...shapeErrors,
    ...(hasName ? prefixErrors(domain) : []),
    ...Object.entries(domain.operations).flatMap(([key, operation]) => operationErrors(key, operation)),
    ...ledgerErrors(domain.ledger),
    ...migrationErrors(domain),
    ...textErrors,
  ].map((error) => withPlace(error, exported))
  if (areReadable) return { domain, errors }
  const { locales: _, ...withoutTexts } = domain
  return { domain: keepCallSite(exported, withoutTexts), errors }
}
