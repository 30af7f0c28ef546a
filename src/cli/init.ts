import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { stderr, stdout } from 'node:process'
import { dump, load } from 'js-yaml'
import { z } from 'zod'
import { loadConfigured } from '../compose/extensions.ts'
import { readVariables } from '../config/env.ts'
import { loadConfiguration } from '../config/index.ts'
import { skeletonOf } from '../documents/index.ts'
import { isRecord } from '../kernel/index.ts'
import { type Command, parseOptions, UsageError } from './command.ts'
import { withSpinner } from './progress.ts'
import { withStore } from './store.ts'

const InitOptions = z.object({
  from: z.string('--from is required: an OpenAPI document of your service'),
  to: z.string('--to is required: the file to write'),
  domain: z.string('--domain is required: the name of the domain, such as loans').regex(/^[a-z][A-Za-z0-9]{1,31}$/),
})

/** Accepts YAML and JSON. */
const readOpenApi = (file: string): Record<string, unknown> => {
  if (!existsSync(file)) throw new UsageError(`--from: ${file} does not exist`)
  const document: unknown = load(readFileSync(file, 'utf8'))
  if (!isRecord(document) || !isRecord(document.paths))
    throw new UsageError(`--from: ${file} is not an OpenAPI document`)
  return document
}

export const init: Command = {
  name: 'init',
  summary: 'add x-portico to an OpenAPI document, and list what each policy lacks',
  help: [
    '  --from file      OpenAPI document of your service, in YAML or JSON',
    '  --to file        file to write; an existing file is not overwritten',
    '  --domain name    name of the domain, such as loans',
    '',
    'The values to decide are null or empty. The gateway rejects the document until all of them are set.',
  ].join('\n'),
  options: { from: { type: 'string' }, to: { type: 'string' }, domain: { type: 'string' } },
  run: async (values) => {
    const { from, to, domain } = parseOptions(InitOptions, values)
    if (existsSync(to)) throw new UsageError(`--to: ${to} exists already`)
    const { document, open } = skeletonOf(readOpenApi(from), domain)
    writeFileSync(to, dump(document, { lineWidth: 120, noRefs: true }))
    for (const { operation, missing } of open) stdout.write(`${operation}: decide ${missing.join(', ')}\n`)
    stdout.write(`wrote ${to} with ${open.length} new operations\n`)
    return 0
  },
}

export const migrate: Command = {
  name: 'migrate',
  summary: 'apply pending schema migrations to the store',
  help: 'Several replicas can run it at the same time; a lock serializes them. `serve` also migrates when it starts.',
  options: {},
  run: async (_values, domains) => {
    const settings = loadConfiguration(readVariables())
    const { owners } = await loadConfigured(domains, settings)
    const done = await withStore(settings, (store) => withSpinner(stderr, 'migrating', () => store.migrate(owners)))
    stdout.write(done.length === 0 ? 'the schema is up to date\n' : `${done.join('\n')}\n`)
    return 0
  },
}
