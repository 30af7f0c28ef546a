import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { buildOpenApiDocument, wordsOf } from '../../compose/catalogue.ts'
import { catalogueOf, loadConfigured } from '../../compose/extensions.ts'
import { loadConfiguration } from '../../config/index.ts'
import { messageOf } from '../../kernel/index.ts'
import { fetchText, parseJson } from '../../platform/http-client.ts'
import { type Command, type CommandContext, httpUrl, parseOptions, UsageError } from '../command.ts'
import { firstLine, writeModule } from './module.ts'

/** The document of Portico's own operations has 2 MB. */
const limits = { timeoutMs: 30_000, maxBytes: 64 * 1024 * 1024 }

const Options = z.object({
  out: z.string({ error: '--out is required, such as --out src/portico.ts' }).min(1, '--out must name a file'),
  url: httpUrl('--url').optional(),
  config: z.string().min(1, '--config must name a file').optional(),
})
type Options = z.output<typeof Options>

export const client: Command = {
  name: 'client',
  summary: 'write the methods of your own domains for portico-client',
  help: [
    '  --out FILE      TypeScript module to write; only an earlier module of this command is overwritten',
    '  --url URL       a running gateway, which serves its operations at /openapi.json',
    '  --config FILE   a configuration instead of a gateway (PORTICO_CONFIG)',
    '',
    'The module contains the operations of `extensions` and OpenAPI documents, with the types and the checks of their',
    'replies. Pass it to the client: createClient({ …, contract: [portico] }). A method has the name that the document gives',
    'it. A name that the client or JavaScript uses already is replaced by the id: `cardsDelete` for `cards.delete`.',
  ].join('\n'),
  options: { out: { type: 'string' }, url: { type: 'string' }, config: { type: 'string' } },
  run: async (values, context) => {
    const options = parseOptions(Options, values)
    if (options.url && options.config !== undefined) throw new UsageError('--url and --config cannot be combined')
    if (existsSync(options.out) && !readFileSync(options.out, 'utf8').startsWith(firstLine))
      throw new UsageError(`--out: ${options.out} exists already, and \`portico client\` did not write it`)
    const { document, source } = await readDocument(options, context)
    const { text, operations, domains } = writeFrom(document, source)
    if (operations === 0) throw new UsageError(`${source} has no operations besides those of portico-client`)
    writeFileSync(options.out, text)
    context.print(
      { file: options.out, operations, domains },
      `wrote ${options.out} with ${operations} operations of ${domains.join(', ')}\n`,
    )
    return 0
  },
}

async function readDocument({ url, config }: Options, context: CommandContext) {
  if (url) return { document: await fetchDocument(url), source: url.href }
  const file = config ?? context.variables.PORTICO_CONFIG
  const variables = file === undefined ? context.variables : { ...context.variables, PORTICO_CONFIG: file }
  const { domains: loaded } = await loadConfigured(context.domains, loadConfiguration(variables, context.domains))
  const catalogue = catalogueOf(loaded)
  const document = await buildOpenApiDocument(catalogue, wordsOf(catalogue, loaded))
  return { document, source: file ?? 'the default configuration' }
}

async function fetchDocument(url: URL): Promise<unknown> {
  const address = `${url.origin}${url.pathname.replace(/\/$/, '')}/openapi.json`
  const response = await fetchText(address, limits).catch((cause: unknown) => {
    throw new Error(`${address} cannot be read`, { cause })
  })
  if (!response.ok)
    throw new Error(
      `${address} responds with ${response.status}. Use a gateway whose reference.enabled is true, or --config`,
    )
  try {
    return parseJson(response.text)
  } catch (error) {
    throw new Error(`${address}: ${messageOf(error)}`)
  }
}

function writeFrom(document: unknown, source: string) {
  try {
    return writeModule(document, source)
  } catch (error) {
    throw new Error(`${source} ${messageOf(error)}`)
  }
}
