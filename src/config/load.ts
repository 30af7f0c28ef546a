import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml'
import { z } from 'zod'
import { isRecord } from '../kernel/index.ts'
import { crossFieldErrors, inProcessErrors } from './cross-field-rules.ts'
import {
  checkErrors,
  defaultLayers,
  mergeSettings,
  type SettingsOwner,
  schemaWith,
  type Tree,
} from './domain-settings.ts'
import {
  defaultDataDirectory,
  inPackage,
  readSecretFiles,
  settingName,
  type Variables,
  variableSettings,
} from './env.ts'
import { otlpEndpoint } from './environment/otlp.ts'
import { secretKeysOf } from './environment/secret-keys.ts'
import { serverUrl } from './environment/server-urls.ts'
import { withPortalDefaults } from './portals/additional.ts'
import { missingProfileErrors, productionErrors } from './production.ts'
import { type FixedRate, type ProductionRule, productionRules } from './production-rules.ts'
import type { Configuration } from './schema.ts'
import { explainIssue, Secret } from './values.ts'

const prototypeKey = '__proto__'

export class ConfigurationError extends Error {
  readonly errors: string[]

  constructor(errors: string[]) {
    super(`the configuration has ${errors.length} error(s):\n${errors.map((error) => `  - ${error}`).join('\n')}`)
    this.name = 'ConfigurationError'
    this.errors = errors
  }
}

const withMergeKeys = CORE_SCHEMA.withTags(mergeTag)

/** The decoder would otherwise replace invalid UTF-8. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

const mapExpected = 'must be a map of settings'

/**
 * The order is config/default.yaml, the defaults of `domains`, the profile's file, the file from PORTICO_CONFIG, the
 * variables. Throws a ConfigurationError that lists every error.
 */
export function loadConfiguration(given: Variables, domains: readonly SettingsOwner[]): Configuration {
  const { schema, errors: declarationErrors } = schemaWith(domains)
  const errors = [...declarationErrors]
  const variables = readSecretFiles(given, errors)
  const file = variables.PORTICO_CONFIG ? readYaml(resolve(variables.PORTICO_CONFIG), errors) : {}
  const endpoint = otlpEndpoint(variables, errors)
  const fromVariables = { ...variableSettings(variables), ...(endpoint !== null && { tracing: { enabled: true } }) }
  errors.push(...coveredSectionErrors(file, fromVariables))
  const overrides = mergeSettings(file, fromVariables)
  const profile = z.object({ profile: z.string().optional() }).safeParse(overrides).data?.profile
  // In development, links in mails follow the port.
  const { PORT: port } = variables
  const followsPort = profile !== 'production' && port !== undefined && /^[1-9]\d*$/.test(port)
  // An unknown profile must not also report missing production settings.
  const known = profile === 'production' ? profile : 'development'
  const defaults = readYaml(inPackage('config/default.yaml'), errors)
  const layers = [
    defaults,
    ...defaultLayers(domains, known),
    readYaml(inPackage(`config/${known}.yaml`), errors),
    followsPort ? { publicUrl: `http://127.0.0.1:${port}` } : {},
    overrides,
  ]
  const tree = withPortalDefaults(layers.reduce<unknown>(mergeSettings, {}), defaults)
  const parsed = schema.safeParse(tree, { error: explainIssue })
  errors.push(...toErrorLines(parsed.error?.issues ?? []))
  if (parsed.success) errors.push(...crossFieldErrors(parsed.data))
  errors.push(...inProcessErrors(tree), ...checkErrors(domains, tree))
  const environment = {
    dataDirectory: resolve(variables.PORTICO_DATA_DIR ?? defaultDataDirectory),
    secretKeys: new Secret(secretKeysOf(variables, errors)),
    databaseUrl: serverUrl('DATABASE_URL', variables.DATABASE_URL, errors),
    redisUrl: serverUrl('REDIS_URL', variables.REDIS_URL, errors),
    smtpUrl: serverUrl('SMTP_URL', variables.SMTP_URL, errors),
    otlpEndpoint: endpoint,
  }
  errors.push(...missingProfileErrors(profile, tree, variables), ...productionErrors(tree, variables))
  if (!parsed.success || errors.length > 0) throw new ConfigurationError(errors)
  return { ...parsed.data, ...environment }
}

/**
 * The rules that production has by default, compared with `settings`. `rates` convert a sum into the currency of its
 * default.
 */
export function compareWithProduction(
  settings: Configuration,
  domains: readonly SettingsOwner[],
  rates: readonly FixedRate[],
): ProductionRule[] {
  const errors: string[] = []
  const files = ['default', 'production'].map((name) => readYaml(inPackage(`config/${name}.yaml`), errors))
  if (errors.length > 0) throw new ConfigurationError(errors)
  const defaults = [...files, ...defaultLayers(domains, 'production')].reduce<unknown>(mergeSettings, {})
  return productionRules({ settings, defaults, rates }, domains)
}

function readYaml(file: string, errors: string[]): Tree {
  try {
    const [tree, ...more] = loadAll(utf8.decode(readFileSync(file)), { schema: withMergeKeys })
    if (more.length > 0) throw new Error('contains more than one document; keep one')
    // Otherwise, the next layer would replace a list or text without an error.
    if (!isRecord(tree ?? {})) throw new Error(mapExpected)
    if (hasPrototypeKey(tree)) throw new Error('contains the key __proto__; remove it')
    return isRecord(tree) ? tree : {}
  } catch (error) {
    errors.push(`${file}: ${error instanceof Error ? error.message.split('\n')[0] : 'unreadable'}`)
    return {}
  }
}

/** The schema would not detect settings below this key. */
function hasPrototypeKey(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    (Object.hasOwn(value, prototypeKey) || Object.values(value).some(hasPrototypeKey))
  )
}

/** A variable that sets a value in a section would hide that the file's section is not a map. */
function coveredSectionErrors(file: Tree, variables: Tree): string[] {
  return Object.entries(variables)
    .filter(([name, value]) => isRecord(value) && !isRecord(file[name] ?? {}))
    .map(([name]) => `${name}: ${mapExpected}`)
}

type Issue = z.core.$ZodIssue

/** A line never contains the value. */
function toErrorLines(issues: readonly Issue[]): string[] {
  return issues.flatMap(unfoldUnion).map(toErrorLine)
}

/** Picks the alternative that the value most likely represents: the one whose issues are below its root. */
function unfoldUnion(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const likely = issue.errors.find((issues) => issues.some(({ path }) => path.length > 0))
  if (!likely) return [issue]
  return likely.flatMap((inner) => unfoldUnion({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** An unknown setting at the top level has no path. */
function toErrorLine({ path, message }: Issue): string {
  return path.length === 0 ? message : `${settingName(path.join('.'))}: ${message}`
}
