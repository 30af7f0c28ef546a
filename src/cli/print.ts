import { dump } from 'js-yaml'
import { z } from 'zod'
import { buildOpenApiDocument, buildServiceDocument, wordsOf } from '../compose/catalogue.ts'
import { checkConfiguration } from '../compose/check/index.ts'
import { catalogueOf, loadConfigured } from '../compose/extensions.ts'
import { describePlaces, findSplitLedger, splitLedgerWarning } from '../compose/ledger.ts'
import { storeName } from '../compose/store.ts'
import { type Configuration, ConfigurationError, loadConfiguration, maskTexts } from '../config/index.ts'
import { postmanCollection } from '../openapi/index.ts'
import { developmentIds } from '../seed/development.ts'
import { type Command, parseOptions, UsageError } from './command.ts'
import { audienceOf, parseDomains } from './service-options.ts'

export const configCheck: Command = {
  name: 'config check',
  summary: 'print the effective configuration, or all of its errors',
  help: '`store` is the database in use. Secrets are masked, and so are all texts in `domains`. Standard error lists the ports that each extension needs, the events that it reacts to, and the commands that its hooks can refuse. Opens the TLS files of the configuration. Exit code 2 if the configuration is invalid.',
  options: {},
  run: async (_values, { domains, variables, print, stderr }) => {
    const configured = loadConfiguration(variables, domains)
    const { domains: loaded, settings, skipped, errors } = await checkConfiguration(domains, configured, variables)
    for (const line of skipped) stderr.write(`portico: ${line}\n`)
    if (errors.length > 0) throw new ConfigurationError([...errors])
    for (const { name, source, isOurs, isRemote, needs = [], on = {}, before = {} } of loaded) {
      if (!isOurs && !isRemote)
        stderr.write(`portico: ${source}: ${name} needs ${needs.length > 0 ? needs.join(', ') : 'no ports'}\n`)
      const types = Object.keys(on)
      if (types.length > 0) stderr.write(`portico: ${source}: ${name} reacts to ${types.join(', ')}\n`)
      const hooked = Object.keys(before)
      if (hooked.length > 0) stderr.write(`portico: ${source}: ${name} can refuse ${hooked.join(', ')}\n`)
    }
    const places = findSplitLedger(loaded, settings)
    if (places) stderr.write(`portico: warning: ${splitLedgerWarning}: ${describePlaces(places)}\n`)
    const printed = { ...settings, domains: maskTexts(settings.domains), store: storeName(settings) }
    print(printed, dump(JSON.parse(JSON.stringify(printed))))
    return 0
  },
}

const OpenApiOptions = z.object({
  format: z.literal('postman', '--format must be postman').optional(),
  channel: z.literal('sealed', '--channel must be sealed').optional(),
  domain: z.array(z.string()),
  audience: z.string().min(1).optional(),
})

export const openapi: Command = {
  name: 'openapi',
  summary: 'print the OpenAPI document of the gateway, or of a service behind it',
  help: [
    '  --format postman   print a Postman Collection (v2.1), whose requests have a new id each time',
    '  --channel sealed   describe the sealed bodies of the secure channel, too, as /openapi.json?channel=sealed does',
    '  --domain NAME      print what a service for this domain has to implement; repeatable',
    '  --audience TEXT    the `aud` of its call assertions (that of backends.NAME)',
    '',
    'Without --domain, prints the document that a gateway with this configuration serves at /openapi.json, or at',
    '/openapi.json?channel=sealed. With --domain, prints the requests that the gateway sends: paths, bodies, headers and',
    'the call assertion. `portico conformance --upstream` checks a service against it.',
  ].join('\n'),
  options: {
    format: { type: 'string' },
    channel: { type: 'string' },
    domain: { type: 'string', multiple: true, default: [] },
    audience: { type: 'string' },
  },
  run: async (values, { domains, variables, print }) => {
    const { format, channel, domain: names, audience } = parseOptions(OpenApiOptions, values)
    if (audience !== undefined && names.length === 0) throw new UsageError('--audience needs --domain')
    if (format !== undefined && (channel !== undefined || names.length > 0))
      throw new UsageError('--format cannot be combined with --channel or --domain')
    if (channel !== undefined && names.length > 0) throw new UsageError('--channel cannot be combined with --domain')
    const settings = loadConfiguration(variables, domains)
    const { domains: loaded } = await loadConfigured(domains, settings)
    const catalogue = catalogueOf(loaded)
    const words = wordsOf(catalogue, loaded)
    const document =
      names.length === 0
        ? await buildOpenApiDocument(catalogue, words, {
            isSealed: channel === 'sealed',
            isDevelopment: settings.profile === 'development',
          })
        : await buildServiceDocument(catalogue, words, {
            domains: parseDomains(catalogue, names),
            issuer: settings.tokens.issuer,
            audience: audienceOf(settings, names, audience),
          })
    const printed = format === undefined ? document : postmanCollection(document, collectionOptions(settings))
    print(printed, `${JSON.stringify(printed, null, 2)}\n`)
    return 0
  },
}

const developmentCodes = { accessCode: 'consumer-dev', systemAccessCode: 'system-dev' }

/** Only development has known access codes, demo accounts, and no edge. */
function collectionOptions({ profile, publicUrl }: Configuration) {
  const isDevelopment = profile === 'development'
  const values = isDevelopment ? { ...developmentCodes, workspaceId: developmentIds.workspace } : {}
  return { baseUrl: publicUrl, values, hasEdgeHeaders: isDevelopment }
}
