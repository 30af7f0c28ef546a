import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml'
import { z } from 'zod'
import { isRecord } from '../kernel/index.ts'
import { crossFieldErrors } from './cross-field-rules.ts'
import { defaultDataDirectory, inPackage, settingName, type Variables, variableSettings } from './env.ts'
import { developmentKey, productionErrors } from './production.ts'
import { type Configuration, schema } from './schema.ts'
import { Secret, serverUrl } from './values.ts'

export type Tree = Record<string, unknown>

/** Merges two configurations key by key. Lists and plain values are replaced as a whole. */
const mergeSettings = (base: unknown, override: unknown): unknown => {
  if (override === undefined || override === null) return base
  if (!isRecord(base) || !isRecord(override)) return override
  const merged: Tree = { ...base }
  for (const [key, value] of Object.entries(override)) merged[key] = mergeSettings(base[key], value)
  return merged
}

const prototypeKey = '__proto__'

/** Whether a value contains the key `__proto__`. A schema would not see its settings. */
const hasPrototypeKey = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, prototypeKey) || Object.values(value).some(hasPrototypeKey))

/** Every error of a configuration, one per line. */
export class ConfigurationError extends Error {
  readonly errors: string[]

  constructor(errors: string[]) {
    super(`the configuration has ${errors.length} error(s):\n${errors.map((error) => `  - ${error}`).join('\n')}`)
    this.name = 'ConfigurationError'
    this.errors = errors
  }
}

const withMergeKeys = CORE_SCHEMA.withTags(mergeTag)

/** Rejects invalid UTF-8. By default the decoder would replace characters. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

const mapExpected = 'must be a map of settings'

const readYaml = (file: string, errors: string[]): Tree => {
  try {
    const [tree, ...more] = loadAll(utf8.decode(readFileSync(file)), { schema: withMergeKeys })
    if (more.length > 0) throw new Error('contains more than one document')
    // Without this check, the next layer would replace a list or text, and the defaults would apply without an error.
    if (!isRecord(tree ?? {})) throw new Error(mapExpected)
    if (hasPrototypeKey(tree)) throw new Error('contains the key __proto__')
    return isRecord(tree) ? tree : {}
  } catch (error) {
    errors.push(`${file}: ${error instanceof Error ? error.message.split('\n')[0] : 'unreadable'}`)
    return {}
  }
}

/**
 * Returns errors for sections that a file sets to a value that is not a map. A variable of the section would hide that
 * mistake.
 */
const coveredSectionErrors = (file: Tree, variables: Tree): string[] =>
  Object.entries(variables)
    .filter(([name, value]) => isRecord(value) && !isRecord(file[name] ?? {}))
    .map(([name]) => `${name}: ${mapExpected}`)

/**
 * 32 bytes in base64 or base64url (RFC 4648). Node ignores other characters, so a typing error would result in another
 * key.
 */
const base64Key = /^[A-Za-z0-9+/_-]{43}=?$/

const secretKey = (text: string | undefined, errors: string[]): Uint8Array<ArrayBuffer> => {
  if (text === undefined) return developmentKey()
  if (!base64Key.test(text.trim())) errors.push('PORTICO_SECRET_KEY: must be 32 bytes in base64')
  return new Uint8Array(Buffer.from(text, 'base64'))
}

/**
 * Merges config/default.yaml, the file of the profile, the file of PORTICO_CONFIG and the variables, in this order. Throws
 * a ConfigurationError that lists every error.
 */
export const loadConfiguration = (variables: Variables): Configuration => {
  const errors: string[] = []
  const file = variables.PORTICO_CONFIG ? readYaml(resolve(variables.PORTICO_CONFIG), errors) : {}
  const fromVariables = variableSettings(variables)
  errors.push(...coveredSectionErrors(file, fromVariables))
  const overrides = mergeSettings(file, fromVariables)
  const profile = z.object({ profile: z.string().default('development') }).safeParse(overrides).data?.profile
  const layers = [
    readYaml(inPackage('config/default.yaml'), errors),
    // This also applies to an unknown profile, so that only its error is reported, and not the missing production
    // settings.
    profile === 'production' ? {} : readYaml(inPackage('config/development.yaml'), errors),
    overrides,
  ]
  const tree = layers.reduce(mergeSettings)
  const parsed = schema.safeParse(tree)
  errors.push(...toErrorLines(parsed.error?.issues ?? []))
  if (parsed.success) errors.push(...crossFieldErrors(parsed.data))
  const environment = {
    dataDirectory: resolve(variables.PORTICO_DATA_DIR ?? defaultDataDirectory),
    secretKey: new Secret(secretKey(variables.PORTICO_SECRET_KEY, errors)),
    databaseUrl: serverUrl('DATABASE_URL', variables.DATABASE_URL, ['postgres', 'postgresql'], errors),
    redisUrl: serverUrl('REDIS_URL', variables.REDIS_URL, ['redis', 'rediss'], errors),
    smtpUrl: serverUrl('SMTP_URL', variables.SMTP_URL, ['smtp', 'smtps'], errors),
  }
  errors.push(...productionErrors(tree, variables))
  if (!parsed.success || errors.length > 0) throw new ConfigurationError(errors)
  return { ...parsed.data, ...environment }
}

type Issue = z.core.$ZodIssue

/**
 * Returns the issues of one alternative of a union: the one that the value most likely stands for, because it fails
 * below its root.
 */
const unfoldUnion = (issue: Issue): Issue[] => {
  if (issue.code !== 'invalid_union') return [issue]
  const likely = issue.errors.find((issues) => issues.some(({ path }) => path.length > 0))
  if (!likely) return [issue]
  return likely.flatMap((inner) => unfoldUnion({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** Formats an issue. An unknown setting at the top level has no path. */
const toErrorLine = ({ path, message }: Issue): string =>
  path.length === 0 ? message : `${settingName(path.join('.'))}: ${message}`

/** Returns one line per issue of the schema. A line names the setting and its variable, but never the value. */
const toErrorLines = (issues: readonly Issue[]): string[] => issues.flatMap(unfoldUnion).map(toErrorLine)
