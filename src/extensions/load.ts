import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import satisfies from 'semver/functions/satisfies.js'
import validRange from 'semver/ranges/valid.js'
import { z } from 'zod'
import type { Domain, LoadedDomain } from '../api/domain.ts'
import { packageVersion } from '../config/env.ts'
import type { Configuration } from '../config/index.ts'
import { declarationsOf, readDocument } from '../documents/index.ts'
import { errorCode, isRecord, keepCallSite, messageOf } from '../kernel/index.ts'
import { checkDomain } from './check.ts'
import { importedFiles, packageUrl, provideModules } from './modules.ts'

/** Each check starts a process. */
const maxCheckedFiles = 20

const Manifest = z.object({ peerDependencies: z.object({ portico: z.string().optional() }).optional() })

const filePlace = /^(?:file:\/\/)?(\/\S+:\d+)$/

/** The name in `domains` of the configuration that switches off all of Portico's own domains. */
export const bankSwitch = 'banking'

export function isOff(
  { name, isOurs }: Pick<LoadedDomain, 'name' | 'isOurs'>,
  switches: Configuration['domains'],
): boolean {
  return switches[name] === 'off' || (isOurs && switches[bankSwitch] === 'off')
}

export interface LoadResult {
  /** Invalid parts have neutral values. */
  domains: readonly LoadedDomain[]
  errors: readonly string[]
  /** Whether each entry was loaded. Otherwise, the names of some domains and their declarations are unknown. */
  isComplete: boolean
}

/**
 * Loads what can be loaded. Paths and packages are relative to the working directory. Domains in `ours` are not checked
 * again.
 */
export async function loadDomains(
  domains: readonly Domain[],
  ours: ReadonlySet<Domain>,
  {
    extensions: entries,
    operations: documents,
    domains: switches,
  }: Pick<Configuration, 'extensions' | 'operations' | 'domains'>,
): Promise<LoadResult> {
  const loaded: LoadedDomain[] = []
  const errors: string[] = []
  let isComplete = true
  const fail = (source: string, found: readonly string[]): void => {
    errors.push(...found.map((error) => `${source}: ${error}`))
  }
  const add = (source: string, exported: unknown): void => {
    const { domain, errors: found } = checkDomain(exported)
    fail(source, found)
    if (!domain?.name) isComplete = false
    if (!domain) return
    const name = domain.name || `unnamed${loaded.length}`
    loaded.push(keepCallSite(domain, { ...domain, name, source, isOurs: false }))
  }
  for (const [index, domain] of domains.entries())
    if (ours.has(domain))
      loaded.push(keepCallSite(domain, { ...domain, source: `domains: ${domain.name}`, isOurs: true }))
    else add(`domains[${index}] of portico()`, domain)
  if (entries.length > 0) provideModules()
  for (const entry of entries) {
    const source = `extensions: ${entry}`
    const imported = await importModule(entry)
    if ('exported' in imported) {
      add(source, imported.exported)
      if (isRecord(imported.exported) && imported.exported.settingsKey !== undefined)
        fail(source, ['settingsKey: only domains that `portico()` gets can have it; use `domains.<name>`'])
    } else {
      fail(source, imported.errors)
      isComplete = false
    }
  }
  const gateway = declarationsOf(loaded, (domain) => isOff(domain, switches))
  for (const file of documents) {
    const read = readDocument(file, gateway)
    if ('domains' in read) loaded.push(...read.domains)
    else {
      fail(`operations: ${file}`, read.errors)
      isComplete = false
    }
  }
  return { domains: loaded, errors, isComplete }
}

/** Returns the default export of an entry of `extensions`, or the reasons why it cannot be used. */
async function importModule(entry: string): Promise<{ exported: unknown } | { errors: string[] }> {
  try {
    const file = packageFileOf(entry)
    const errors = file === undefined ? [] : versionErrors(file)
    if (errors.length > 0) return { errors }
    return { exported: await importDefault(isPath(entry) ? pathToFileURL(resolve(entry)).href : packageUrl(entry)) }
  } catch (error) {
    return { errors: importErrors(entry, error) }
  }
}

/** Returns the package.json that belongs to an entry of `extensions`, or undefined without one. */
function packageFileOf(entry: string): string | undefined {
  return isPath(entry)
    ? nearestPackageFile(dirname(resolve(entry)))
    : findPackageJSON(entry, pathToFileURL(resolve('portico.yaml')))
}

/** Whether an entry of `extensions` is a path. Every other entry is the name of a package, as in `import`. */
function isPath(entry: string): boolean {
  return isAbsolute(entry) || /^\.\.?[/\\]/.test(entry)
}

function nearestPackageFile(folder: string): string | undefined {
  const file = join(folder, 'package.json')
  if (existsSync(file)) return file
  return dirname(folder) === folder ? undefined : nearestPackageFile(dirname(folder))
}

/**
 * Checks `peerDependencies.portico` in the extension's package.json. Without it, accepts every version.
 */
function versionErrors(packageFile: string): string[] {
  try {
    const range = Manifest.parse(JSON.parse(readFileSync(packageFile, 'utf8'))).peerDependencies?.portico
    if (range === undefined) return []
    const place = `${packageFile}: peerDependencies.portico`
    if (validRange(range) === null)
      return [`${place}: '${range}' is not a version range; write one such as ^${packageVersion()}`]
    const version = packageVersion()
    return satisfies(version, range, { includePrerelease: true })
      ? []
      : [
          `${place}: requires portico ${range}, but this is portico ${version}; install a version of the extension for it`,
        ]
  } catch (error) {
    return [`${packageFile}: ${messageOf(error)}`]
  }
}

async function importDefault(url: string): Promise<unknown> {
  const module: object = await import(/* @vite-ignore */ url)
  return 'default' in module ? module.default : undefined
}

function importErrors(entry: string, error: unknown): string[] {
  const isMistakenPath = !isPath(entry) && errorCode(error) === 'ERR_MODULE_NOT_FOUND' && existsSync(resolve(entry))
  if (isMistakenPath) return [`no package has this name; write ./${entry} for the file`]
  const place = error instanceof SyntaxError ? placeOfSyntaxError(error) : undefined
  return [place === undefined ? messageOf(error) : `${messageOf(error)} (${place})`]
}

/** Returns the file and line. Node names them in errors of TypeScript only, and otherwise with `--check`. */
function placeOfSyntaxError(error: SyntaxError): string | undefined {
  const placeIn = (text = ''): string | undefined => filePlace.exec(text.split('\n', 1).join())?.[1]
  const known = placeIn(error.stack)
  if (known !== undefined) return known
  for (const url of importedFiles.slice(-maxCheckedFiles).toReversed()) {
    const { stderr } = spawnSync(process.execPath, ['--check', fileURLToPath(url)], { encoding: 'utf8' })
    const place = placeIn(stderr)
    if (place !== undefined) return place
  }
  return undefined
}
