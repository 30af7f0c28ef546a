import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { actionsOf, type Domain } from '../api/domain.ts'
import type { LedgerTypes } from '../contract/ledger/ledger-types.ts'
import { isLifeCycle } from '../contract/ledger/life-cycle.ts'
import { assertNumbered } from '../database/index.ts'
import { slowPatternErrors } from '../documents/index.ts'
import {
  callSiteOf,
  fallbackLocale,
  isRecord,
  keepCallSite,
  type Locale,
  locales,
  messageOf,
  type Operation,
  withCallSite,
} from '../kernel/index.ts'
import { endedStatuses } from '../ledger/index.ts'
import { readTexts } from '../platform/i18n/index.ts'
import { readShape } from './shape.ts'

/** Keys of declarations. Handlers can use any other text by its key. */
const declared = /^(refusal|permission|coded|notice\.owners)\./

export interface CheckedDomain {
  /**
   * With neutral values instead of invalid ones. Undefined if the module does not export an object. The name can be
   * empty.
   */
  domain?: Domain
  errors: readonly string[]
}

/** Each error names the field, and the file and line of its declaration. */
export function checkDomain(exported: unknown): CheckedDomain {
  const { domain, errors: shapeErrors, isNamed, areTextsKnown } = readShape(exported)
  if (!domain) return { errors: shapeErrors }
  const { errors: textErrors, areReadable } = checkTexts(domain, areTextsKnown)
  const errors = [
    ...shapeErrors,
    ...(isNamed ? prefixErrors(domain) : []),
    ...Object.entries(domain.operations).flatMap(([key, operation]) => [
      ...policyErrors(key, operation),
      ...schemaErrors(key, operation),
      ...bytesErrors(key, operation),
      ...exampleErrors(key, operation),
    ]),
    ...ledgerErrors(domain.ledger),
    ...migrationErrors(domain),
    ...textErrors,
    ...mailErrors(domain),
  ].map((error) => withPlace(error, exported))
  if (areReadable) return { domain, errors }
  const { locales: _, ...withoutTexts } = domain
  return { domain: keepCallSite(domain, withoutTexts), errors }
}

function checkTexts(domain: Domain, areTextsKnown: boolean): { errors: string[]; areReadable: boolean } {
  const required = requiredTexts(domain)
  if (!domain.locales) {
    const errors =
      required.length === 0
        ? []
        : [`locales: is missing, but ${required[0]} needs a text; set the URL of a folder with en.yaml`]
    return { errors, areReadable: true }
  }
  const { files, errors } = readTextFiles(fileURLToPath(domain.locales))
  const used = new Set(required)
  // `contract` declares what `requiredTexts` reads from the fields.
  const isUnused = (key: string): boolean =>
    areTextsKnown && !domain.contract && declared.test(key) && !used.has(key.replace(/_field$/, ''))
  const ofKeys = files.flatMap(({ locale, path, keys }) => [
    ...(locale === fallbackLocale ? required.filter((key) => !keys.includes(key)) : []).map(
      (key) => `locales: ${path} has no text ${key}; add it`,
    ),
    ...keys
      .filter(isUnused)
      .map((key) => `locales: ${path} has the text ${key}, which belongs to no declaration; remove it`),
  ])
  return { errors: [...errors, ...ofKeys], areReadable: errors.length === 0 }
}

/** Returns the keys of `en.yaml` that the declarations of a domain require. */
function requiredTexts({
  codes = {},
  permissions = {},
  codedValues = {},
  ledger = {},
  ownerNotices = [],
}: Domain): string[] {
  return [
    ...ownerNotices.flatMap((kind) => [`notice.owners.${kind}.event`, `notice.owners.${kind}.advice`]),
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
}

interface TextFile {
  locale: Locale
  path: string
  keys: readonly string[]
}

function readTextFiles(folder: string): { files: TextFile[]; errors: string[] } {
  const files: TextFile[] = []
  const errors = unknownLocales(folder, 'locales')
  for (const locale of locales) {
    const path = join(folder, `${locale}.yaml`)
    if (existsSync(path))
      try {
        files.push({ locale, path, keys: Object.keys(readTexts(folder, locale)) })
      } catch (error) {
        errors.push(`locales: ${messageOf(error)}`)
      }
    else if (locale === fallbackLocale) errors.push(`locales: ${path} does not exist; create it with the English texts`)
  }
  return { files, errors }
}

/** A misspelt language would be ignored. */
function unknownLocales(folder: string, field: string): string[] {
  const known = locales.map((locale) => `${locale}.yaml`)
  return (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => /\.ya?ml$/.test(name) && !known.includes(name))
    .map((name) => `${field}: ${join(folder, name)} is not read: name it ${known.join(', ')}`)
}

function prefixErrors({ name, operations }: Domain): string[] {
  return Object.entries(operations)
    .filter(([, { id }]) => !/^[A-Za-z0-9]+$/.test(id.slice(name.length + 1)) || !id.startsWith(`${name}.`))
    .map(([key]) => `operations.${key}.id: must be ${name}. and a name, such as ${name}.create`)
}

function policyErrors(key: string, { policy, refuses }: Operation): string[] {
  if (policy.caller === 'account')
    return policy.stepUp === false && refuses.includes('ACCESS.STEP_UP_REQUIRED')
      ? [`operations.${key}.refuses: ACCESS.STEP_UP_REQUIRED needs \`stepUp: 'maybe'\` in \`policy\``]
      : []
  const forbidden = {
    workspace: policy.workspace !== 'none',
    permission: policy.permission !== null,
    stepUp: policy.stepUp !== false,
    idempotent: policy.idempotent,
  }
  return Object.entries(forbidden)
    .filter(([, isSet]) => isSet)
    .map(([field]) => `operations.${key}.policy.${field}: needs \`caller: 'account'\``)
}

function schemaErrors(key: string, { query, body, reply, params = {} }: Operation): string[] {
  const requests: [string, unknown][] = [['query', query], ['body', body], ...Object.entries(params)]
  return [...requests, ['reply', reply] as const].flatMap(([field, schema]) => {
    if (!(schema instanceof z.ZodType)) return []
    const error = schemaError(schema, field === 'reply' ? 'output' : 'input')
    const place = `operations.${key}.${field}`
    return [...(error === undefined ? [] : [`${place}: ${error}`]), ...slowPatternErrors(schema, place)]
  })
}

/** OpenAPI needs a JSON Schema, and request schemas must be strict. */
function schemaError(schema: z.ZodType, io: 'input' | 'output'): string | undefined {
  try {
    const json = z.toJSONSchema(schema, { io })
    return io === 'input' && acceptsUnknownFields(json) ? 'must be a z.strictObject, as all objects in it' : undefined
  } catch (error) {
    return `${messageOf(error)}; use a type that JSON has`
  }
}

function acceptsUnknownFields(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(acceptsUnknownFields)
  if (!isRecord(schema)) return false
  const isOpen = schema.type === 'object' && 'properties' in schema && schema.additionalProperties === undefined
  return isOpen || Object.values(schema).some(acceptsUnknownFields)
}

/** How an operation may send bytes, by the method of its request. */
function bytesErrors(key: string, { method, body, reply, policy }: Operation): string[] {
  const rules: [broken: boolean, error: string][] = [
    [method === 'DELETE' && body !== 'none', "body: must be 'none' for DELETE"],
    [method === 'GET' && body === 'multipart', "body: 'multipart' needs POST, PUT or PATCH"],
    [reply === 'stream' && method !== 'GET', "method: must be GET for `reply: 'stream'`"],
    [
      policy.idempotent && (body === 'multipart' || reply === 'stream'),
      'policy.idempotent: needs JSON in body and reply',
    ],
  ]
  return rules.flatMap(([broken, error]) => (broken ? [`operations.${key}.${error}`] : []))
}

/** An example that the schemas refuse would mislead. */
function exampleErrors(key: string, { query, body, reply, examples = {} }: Operation): string[] {
  const parts: [field: string, schema: unknown, value: unknown][] = [
    ['query', query, examples.query],
    ['body', body, examples.body],
    ['reply', reply, examples.reply],
  ]
  return parts.flatMap(([field, schema, value]) => {
    if (value === undefined) return []
    const place = `operations.${key}.examples.${field}`
    if (!(schema instanceof z.ZodType)) return [`${place}: the operation has no schema for it; remove it`]
    const issue = schema.safeParse(value).error?.issues[0]
    return issue ? [`${[place, ...issue.path].join('.')}: ${issue.message}; change the example or the schema`] : []
  })
}

function ledgerErrors({ orders = {} }: LedgerTypes = {}): string[] {
  return Object.entries(orders).flatMap(([name, type]) => {
    const { open, final } = type
    const field = `ledger.orders.${name}`
    return [
      ...open
        .filter((status) => final.includes(status))
        .map((status) => `${field}.final: ${status} is open, too; remove one`),
      ...open
        .filter((status) => endedStatuses.some((ended) => ended === status))
        .map((status) => `${field}.open: ${status} is always final; move it to \`final\``),
      ...(open.length > 0 && !final.includes('CANCELLED') && !isLifeCycle(type)
        ? [`${field}.final: CANCELLED is missing, which the reset of a sandbox needs for open orders; add it`]
        : []),
    ]
  })
}

function migrationErrors({ name, migrations = [] }: Domain): string[] {
  try {
    assertNumbered({ owner: name, migrations })
    return []
  } catch (error) {
    return [`migrations: ${messageOf(error)}`]
  }
}

function mailErrors({ mails }: Domain): string[] {
  if (!mails) return []
  const folder = fileURLToPath(mails.directory)
  return Object.keys(mails.templates).flatMap((name) => unknownLocales(join(folder, name), 'mails'))
}

/** Appends the place of the operation that an error begins with, or else of the domain. */
function withPlace(error: string, exported: unknown): string {
  const [, name = ''] = /^operations\.(\w+)/.exec(error) ?? []
  const operations = isRecord(exported) ? exported.operations : undefined
  const place = isRecord(operations) ? operations[name] : undefined
  return callSiteOf(place) === undefined ? withCallSite(error, exported) : withCallSite(error, place)
}
