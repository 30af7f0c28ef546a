import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { chains, messageOf, rateGroups } from '../kernel/index.ts'
import { readTexts } from '../platform/i18n/index.ts'
import type { Domain } from './domain.ts'

const zodSchema = z.instanceof(z.ZodType, { error: 'must be a zod schema of portico/contract' })
const named = (pattern: RegExp, example: string) => z.string().regex(pattern, `must be a name such as ${example}`)
const permission = named(/^[a-z][a-z-]*:[a-z][a-z-]*$/, 'loan:create').transform(
  (text) => text as `${string}:${string}`,
)
const groups = z.record(named(/^[a-z][a-z-]*$/, 'loan'), z.array(named(/^[a-z][a-z-]*$/, 'create')).min(1))
const code = named(/^[A-Z][A-Z0-9_]*\.[A-Z][A-Z0-9_]*$/, 'LOAN.NOT_ELIGIBLE')

const Policy = z.strictObject({
  caller: z.enum(['anonymous', 'account']),
  workspace: z.enum(['none', 'optional', 'required']),
  permission: permission.nullable(),
  stepUp: z.boolean(),
  channel: z.enum(['none', 'optional']),
  rate: z.enum(rateGroups),
  idempotent: z.boolean(),
  changesRights: z.boolean(),
})

const OperationShape = z.strictObject({
  id: z.string(),
  method: z.enum(['GET', 'POST']),
  path: named(/^(\/([a-z0-9-]+|\{\w+\}))+$/, '/loans/{loan_id}'),
  chains: z.array(z.enum(Object.keys(chains))).min(1),
  summary: z.string().min(1).max(60),
  policy: Policy,
  params: z.record(z.string(), zodSchema).optional(),
  malformedParam: code.optional(),
  query: zodSchema.optional(),
  body: z.union([zodSchema, z.literal('none')], { error: "must be a zod schema of portico/contract, or 'none'" }),
  malformedBody: code.optional(),
  reply: zodSchema,
  refuses: z.array(code),
})

const isFunction = (value: unknown): boolean => typeof value === 'function'

const Definition = z.strictObject({
  name: named(/^[a-z][A-Za-z0-9]{1,31}$/, 'loans'),
  summary: z.string().min(1),
  operations: z.record(z.string(), OperationShape),
  permissions: z.strictObject({ workspace: groups.optional(), operator: groups.optional() }).optional(),
  codes: z.record(code, z.strictObject({ status: z.int().min(400).max(499) })).optional(),
  codedValues: z
    .record(named(/^[a-z][A-Za-z0-9]*$/, 'loanStatus'), z.record(named(/^[A-Z][A-Z0-9_]*$/, 'PAID_OUT'), z.int()))
    .optional(),
  locales: z.instanceof(URL).optional(),
  settings: zodSchema.optional(),
  migrations: z.array(z.strictObject({ name: z.string(), up: z.custom(isFunction, 'must be a function') })).optional(),
  create: z.custom(isFunction, 'must be a function'),
})

/** The texts that the declarations of a domain need, as keys of `en.yaml`. */
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
  const errors = [...prefixErrors(domain), ...textErrors(domain)]
  return errors.length > 0 ? { errors } : { domain }
}
