import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Domain } from '../api/domain.ts'
import { assertNumbered } from '../database/index.ts'
import { PolicyShape } from '../documents/marks.ts'
import { chains, isRecord, messageOf, type Operation } from '../kernel/index.ts'
import { readTexts } from '../platform/i18n/index.ts'

const zodSchema = z.instanceof(z.ZodType, { error: 'must be a zod schema of portico/contract' })
const named = (pattern: RegExp, example: string) => z.string().regex(pattern, `must be a name such as ${example}`)
const groups = z.record(named(/^[a-z][a-z-]*$/, 'loan'), z.array(named(/^[a-z][a-z-]*$/, 'create')).min(1))
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
  body: z.union([zodSchema, z.literal('none')], { error: "must be a zod schema of portico/contract, or 'none'" }),
  malformedBody: code.optional(),
  reply: zodSchema,
  refuses: z.array(code),
})

/** Keys of a contract file that are not operations. */
const reservedNames: readonly string[] = ['summary', 'codes', 'permissions']
const operationName = named(/^[a-z][A-Za-z0-9]*$/, 'applyForLoan').refine(
  (name) => !reservedNames.includes(name),
  'is reserved',
)

const isFunction = (value: unknown): boolean => typeof value === 'function'

const Definition = z.strictObject({
  name: named(/^[a-z][A-Za-z0-9]{1,31}$/, 'loans'),
  summary: z.string().min(1),
  operations: z.record(operationName, OperationShape),
  permissions: z.strictObject({ workspace: groups.optional(), operator: groups.optional() }).optional(),
  codes: z.record(code, z.strictObject({ status: z.int().min(400).max(499) })).optional(),
  codedValues: z
    .record(named(/^[a-z][A-Za-z0-9]*$/, 'loanStatus'), z.record(named(/^[A-Z][A-Z0-9_]*$/, 'PAID_OUT'), z.int()))
    .optional(),
  locales: z.instanceof(URL).optional(),
  mails: z
    .strictObject({
      directory: z.instanceof(URL),
      templates: z.record(named(/^[a-z][a-z-]*$/, 'loan-approved'), z.array(named(/^\w+$/, 'amount'))),
    })
    .optional(),
  settings: zodSchema.optional(),
  migrations: z.array(z.strictObject({ name: z.string(), up: z.custom(isFunction, 'must be a function') })).optional(),
  uses: z.array(z.string()).optional(),
  contract: z.custom<object>(isRecord, 'must be a module').optional(),
  create: z.custom(isFunction, 'must be a function'),
})

/** Returns the keys of `en.yaml` that the declarations of a domain require. */
const requiredTexts = ({ codes = {}, permissions = {}, codedValues = {} }: Domain): string[] => [
  ...Object.keys(codes).map((name) => `refusal.${name}`),
  ...Object.values(permissions).flatMap((scope = {}) =>
    Object.entries(scope).flatMap(([group, actions]) =>
      actions.flatMap((action) => [`permission.${group}:${action}.name`, `permission.${group}:${action}.description`]),
    ),
  ),
  ...Object.entries(codedValues).flatMap(([family, values]) =>
    Object.keys(values).flatMap((name) => [`coded.${family}.${name}.label`, `coded.${family}.${name}.description`]),
  ),
]

const textErrors = (domain: Domain): string[] => {
  const required = requiredTexts(domain)
  if (required.length === 0) return []
  if (!domain.locales) return [`locales: is missing, but ${required[0]} needs a text`]
  const directory = fileURLToPath(domain.locales)
  const file = join(directory, 'en.yaml')
  if (!existsSync(file)) return [`locales: ${file} does not exist`]
  try {
    const texts = readTexts(directory, 'en')
    return required.filter((key) => !Object.hasOwn(texts, key)).map((key) => `locales: ${file} has no text ${key}`)
  } catch (error) {
    return [`locales: ${messageOf(error)}`]
  }
}

/** Whether a JSON Schema contains an object that accepts undeclared fields. */
const acceptsUnknownFields = (schema: unknown): boolean => {
  if (Array.isArray(schema)) return schema.some(acceptsUnknownFields)
  if (!isRecord(schema)) return false
  const isOpen = schema.type === 'object' && 'properties' in schema && schema.additionalProperties === undefined
  return isOpen || Object.values(schema).some(acceptsUnknownFields)
}

/**
 * Returns the error of a schema, or undefined. The schema must have a JSON Schema for OpenAPI, and requests must be
 * strict.
 */
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
    return error === undefined ? [] : [`operations.${key}.${field}: ${error}`]
  })
}

/**
 * Returns the errors of a policy without a caller: without a token, nobody can have a workspace, a permission or a
 * second factor.
 */
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

const prefixErrors = ({ name, operations }: Domain): string[] =>
  Object.entries(operations)
    .filter(([, { id }]) => !/^[A-Za-z0-9]+$/.test(id.slice(name.length + 1)) || !id.startsWith(`${name}.`))
    .map(([key]) => `operations.${key}.id: must be ${name}. and a name, such as ${name}.create`)

/** Returns the domain that a module exports, or every error of its definition, each with the path of the field. */
export const checkDomain = (exported: unknown): { domain: Domain } | { errors: string[] } => {
  const parsed = Definition.safeParse(exported)
  if (!parsed.success)
    return {
      errors: parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'default export'}: ${message}`),
    }
  // The schema has checked each field; the type adds what it derives from `operations`.
  const domain = exported as Domain
  const errors = [
    ...prefixErrors(domain),
    ...Object.entries(domain.operations).flatMap(([key, operation]) => [
      ...policyErrors(key, operation),
      ...schemaErrors(key, operation),
    ]),
    ...migrationErrors(domain),
    ...textErrors(domain),
  ]
  return errors.length > 0 ? { errors } : { domain }
}
