import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'node:path'
import { dump, load } from 'js-yaml'
import { z } from 'zod'
import { loadConfigured } from '../compose/extensions.ts'
import { migrateStore } from '../compose/migrations.ts'
import { loadConfiguration } from '../config/index.ts'
import { gatewayContracts } from '../contract/index.ts'
import type { OpenDatabase } from '../database/index.ts'
import { camelCase, skeletonOf } from '../documents/index.ts'
import { describeError, isRecord } from '../kernel/index.ts'
import { oncePerReason } from '../platform/dependency-log.ts'
import { systemDurations } from '../platform/runtime/index.ts'
import type { StoreWait } from '../platform/store-wait.ts'
import { type Command, parseOptions, UsageError } from './command.ts'
import { type Screen, withSpinner } from './progress.ts'
import { withStore } from './store.ts'

const domainName = z.string().regex(/^[a-z][A-Za-z0-9]{1,31}$/, '--domain must be a name such as loans')

const InitOptions = z.object({
  file: z.string().optional(),
  from: z.string().optional(),
  to: z.string().optional(),
  domain: domainName.optional(),
})

export const init: Command = {
  name: 'init',
  argument: 'file',
  summary: 'add x-portico to an OpenAPI document, and list what each policy lacks',
  help: [
    '  file             OpenAPI document of your service, in YAML or JSON',
    '  --from file      the same, as an option',
    '  --to file        file to write (<name>.portico.yaml in the working directory); an existing file is not overwritten',
    '  --domain name    name of the domain, such as loans (that of the title in the document)',
    '',
    'The values to decide are null, empty or missing: `permission` is missing, because null would allow every member.',
    'The gateway rejects the document until all of them are set.',
  ].join('\n'),
  options: { from: { type: 'string' }, to: { type: 'string' }, domain: { type: 'string' } },
  run: async (values, { domains, print }) => {
    const options = parseOptions(InitOptions, values)
    const source = sourceOf(options)
    const to = options.to ?? fileInWorkingDirectory(source)
    if (existsSync(to)) throw new UsageError(`--to: ${to} exists already`)
    const openApi = readOpenApi(source)
    const domain = options.domain ?? domainOfTitle(titleOf(openApi))
    if (Object.hasOwn(gatewayContracts, domain) || domains.some(({ name }) => name === domain))
      throw new UsageError(`--domain: the gateway has a domain ${domain} already; give another name`)
    const { document, open } = skeletonOf(openApi, domain)
    writeFileSync(to, dump(document, { lineWidth: 120, noRefs: true }))
    const lines = open.map(({ operation, missing }) => `${operation}: decide ${missing.join(', ')}\n`)
    print(
      { file: to, domain, operations: open },
      `${lines.join('')}wrote ${to} with ${open.length} new operations of the domain ${domain}\n`,
    )
    return 0
  },
}

export const migrate: Command = {
  name: 'migrate',
  summary: 'apply pending schema migrations to the store',
  help: 'Several replicas can run it at the same time; a lock serializes them. `serve` also migrates when it starts. If the server is away, waits for it.',
  options: {},
  run: async (_values, { domains, variables, print, stderr }) => {
    const settings = loadConfiguration(variables, domains)
    const { owners } = await loadConfigured(domains, settings)
    const work = (store: OpenDatabase) => withSpinner(stderr, 'migrating', () => migrateStore(store, owners, settings))
    const done = await withStore(settings, work, waitFor(stderr))
    print({ migrated: done }, done.length === 0 ? 'the schema is up to date\n' : `${done.join('\n')}\n`)
    return 0
  },
}

/** One line per change of the reason. */
function waitFor(stderr: Screen): StoreWait {
  const report = oncePerReason(systemDurations, (error) => stderr.write(`portico: waiting: ${describeError(error)}\n`))
  return {
    durations: systemDurations,
    onAway: (_store, error) => report(error),
    onBack: () => undefined,
    whileAway: (attempts) => attempts(new AbortController().signal),
  }
}

function sourceOf({ file, from }: z.output<typeof InitOptions>): string {
  if (file !== undefined && from !== undefined)
    throw new UsageError('give the file as an argument or with --from, not both')
  const source = file ?? from
  if (source === undefined) throw new UsageError('an OpenAPI document is required, such as portico init openapi.yaml')
  return source
}

function fileInWorkingDirectory(source: string): string {
  return `${parse(source).name}.portico.yaml`
}

/** Accepts YAML and JSON. */
function readOpenApi(file: string): Record<string, unknown> {
  if (!existsSync(file)) throw new UsageError(`${file} does not exist`)
  const document: unknown = load(readFileSync(file, 'utf8'))
  if (!isRecord(document) || !isRecord(document.paths)) throw new UsageError(`${file} is not an OpenAPI document`)
  return document
}

/** Returns `cardOrders` for the title `Card Orders API`. */
function domainOfTitle(title: string): string {
  const words = title
    .replace(/(\s+(REST|API|service))+\s*$/i, '')
    .replaceAll(/\b[A-Z]+\b/g, (word) => word.toLowerCase())
  const { data: name } = domainName.safeParse(camelCase(words))
  if (name === undefined)
    throw new UsageError(`--domain is required, such as --domain loans: the title '${title}' contains no name`)
  return name
}

function titleOf({ info }: Record<string, unknown>): string {
  return isRecord(info) && typeof info.title === 'string' ? info.title : ''
}
