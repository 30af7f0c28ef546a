import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml'
import { z } from 'zod'
import { isRecord } from '../kernel/index.ts'
import { serverUrl } from './addresses.ts'
import { crossFieldErrors } from './cross-field-rules.ts'
import { defaultDataDirectory, settingName, type Variables, variableSettings } from './env.ts'
import { inPackage } from './package.ts'
import { developmentKey, productionErrors } from './production.ts'
import { type Configuration, schema } from './schema.ts'
import { Secret } from './values.ts'

export type Tree = Record<string, unknown>

/** Lays one configuration over another, key by key; lists and plain values are replaced whole. */
export const mergeSettings = (base: unknown, over: unknown): unknown => {
  if (over === undefined || over === null) return base
  if (!isRecord(base) || !isRecord(over)) return over
  const merged: Tree = { ...base }
  for (const [key, value] of Object.entries(over)) merged[key] = mergeSettings(base[key], value)
  return merged
}

const inherited = '__proto__'

/** Whether it names what every object inherits: laid over anything, it would say settings that no schema sees. */
export const namesPrototype = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, inherited) || Object.values(value).some(namesPrototype))

/** Every fault of a configuration at once, a line each. */
export class ConfigurationError extends Error {
  readonly errors: string[]

  constructor(faults: string[]) {
    super(`the configuration has ${faults.length} fault(s):\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.name = 'ConfigurationError'
    this.errors = faults
  }
}

const withMergeKeys = CORE_SCHEMA.withTags(mergeTag)

/** What is no UTF-8 would be read with marks in place of letters. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

const notByName = 'must hold settings by name'

const readYaml = (file: string, faults: string[]): Tree => {
  try {
    const [tree, ...more] = loadAll(utf8.decode(readFileSync(file)), { schema: withMergeKeys })
    if (more.length > 0) throw new Error('holds more than one document')
    // What is none would be covered by the next layer, and the defaults would run as if nothing had been said.
    if (!isRecord(tree ?? {})) throw new Error(notByName)
    if (namesPrototype(tree)) throw new Error('names a setting __proto__')
    return isRecord(tree) ? tree : {}
  } catch (error) {
    faults.push(`${file}: ${error instanceof Error ? error.message.split('\n')[0] : 'unreadable'}`)
    return {}
  }
}

/** Sections that a file fills with something else, which the variables' own would cover. */
const coveredSectionErrors = (file: Tree, variables: Tree): string[] =>
  Object.entries(variables)
    .filter(([name, value]) => isRecord(value) && !isRecord(file[name] ?? {}))
    .map(([name]) => `${name}: ${notByName}`)

/** 32 bytes in either alphabet of RFC 4648. Node skips whatever else it meets, and a slip of the hand would be another key. */
const base64Key = /^[A-Za-z0-9+/_-]{43}=?$/

const secretKey = (text: string | undefined, faults: string[]): Uint8Array<ArrayBuffer> => {
  if (text === undefined) return developmentKey()
  if (!base64Key.test(text.trim())) faults.push('PORTICO_SECRET_KEY: must be 32 bytes in base64')
  return new Uint8Array(Buffer.from(text, 'base64'))
}

/**
 * default.yaml, the profile's own file, the file named by PORTICO_CONFIG and the variables, laid over each other in
 * this order. Throws a ConfigurationError that names every fault.
 */
export const loadConfiguration = (variables: Variables): Configuration => {
  const faults: string[] = []
  const file = variables.PORTICO_CONFIG ? readYaml(resolve(variables.PORTICO_CONFIG), faults) : {}
  const told = variableSettings(variables)
  faults.push(...coveredSectionErrors(file, told))
  const chosen = mergeSettings(file, told)
  const profile = z.object({ profile: z.string().default('development') }).safeParse(chosen).data?.profile
  const layers = [
    readYaml(inPackage('config/default.yaml'), faults),
    // Also over a profile that is none: what production must be told is no fault before somebody has said production.
    profile === 'production' ? {} : readYaml(inPackage('config/development.yaml'), faults),
    chosen,
  ]
  const tree = layers.reduce(mergeSettings)
  const parsed = schema.safeParse(tree)
  faults.push(...toErrorLines(parsed.error?.issues ?? []))
  if (parsed.success) faults.push(...crossFieldErrors(parsed.data))
  const outside = {
    dataDirectory: resolve(variables.PORTICO_DATA_DIR ?? defaultDataDirectory),
    secretKey: new Secret(secretKey(variables.PORTICO_SECRET_KEY, faults)),
    databaseUrl: serverUrl('DATABASE_URL', variables.DATABASE_URL, ['postgres', 'postgresql'], faults),
    redisUrl: serverUrl('REDIS_URL', variables.REDIS_URL, ['redis', 'rediss'], faults),
    smtpUrl: serverUrl('SMTP_URL', variables.SMTP_URL, ['smtp', 'smtps'], faults),
  }
  faults.push(...productionErrors(tree, variables))
  if (!parsed.success || faults.length > 0) throw new ConfigurationError(faults)
  return { ...parsed.data, ...outside }
}

type Issue = z.core.$ZodIssue

/** Of a setting that may be several things, what is wrong with the one that was meant: the one that is read furthest. */
const unfoldUnion = (issue: Issue): Issue[] => {
  if (issue.code !== 'invalid_union') return [issue]
  const meant = issue.errors.find((issues) => issues.some(({ path }) => path.length > 0))
  if (!meant) return [issue]
  return meant.flatMap((inner) => unfoldUnion({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** Of a name that no setting at the top has, the message alone tells. */
const toErrorLine = ({ path, message }: Issue): string =>
  path.length === 0 ? message : `${settingName(path.join('.'))}: ${message}`

/** A line for each fault that the schema finds, naming the setting and the variable that sets it; never its value. */
export const toErrorLines = (issues: readonly Issue[]): string[] => issues.flatMap(unfoldUnion).map(toErrorLine)
