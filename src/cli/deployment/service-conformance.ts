import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { load } from 'js-yaml'
import { z } from 'zod'
import { catalogueOf, loadConfigured } from '../../compose/extensions.ts'
import { inPackage } from '../../config/env.ts'
import {
  type Configuration,
  loadConfiguration,
  type UpstreamConfiguration,
  upstreamSettings,
} from '../../config/index.ts'
import {
  Assertions,
  assertValidSample,
  checkService,
  type Sample,
  type ServiceCheck,
  ServiceClient,
  type ServiceReport,
  ServiceUnreachable,
  serveJwks,
} from '../../conformance/service/index.ts'
import type { Catalogue } from '../../contract/index.ts'
import { bizId, chains, domainOf, isBizId, messageOf, type Operation } from '../../kernel/index.ts'
import { type Example, readExamples } from '../../openapi/index.ts'
import { systemClock, systemIds } from '../../platform/runtime/index.ts'
import { developmentIds } from '../../seed/development.ts'
import { type CommandContext, httpUrl, parseOptions, UsageError } from '../command.ts'
import { type Screen, withSpinner } from '../progress.ts'
import { audienceOf, parseDomains } from '../service-options.ts'
import { isLoopback } from './urls.ts'

export const upstreamOptions = {
  upstream: { type: 'string' },
  domain: { type: 'string', multiple: true },
  audience: { type: 'string' },
  jwks: { type: 'string' },
  samples: { type: 'string' },
  account: { type: 'string' },
  workspace: { type: 'string' },
  'yes-this-is-mine': { type: 'boolean' },
} as const

export const upstreamHelp: readonly string[] = [
  '  --upstream URL             the service',
  '  --domain NAME              domain that it serves, such as wallets; repeatable',
  '  --audience TEXT            the `aud` of call assertions (that of backends.NAME)',
  '  --jwks HOST:PORT           where this command serves the keys of its assertions (the operations listener of the',
  '                             configuration, by default 127.0.0.1:9090: stop the gateway, or use another port)',
  '  --samples FILE             YAML: operation id to { params, query, body } that succeed',
  '  --account ID               account of the calls (a fixed id)',
  '  --workspace ID             workspace of the calls (that of the development seed)',
  '  --yes-this-is-mine         allow commands at a service on another machine',
  '',
  'Calls every operation, also commands: use a service whose data you can lose. Checks replies, refusals, idempotency',
  'and nine kinds of invalid assertions. An operation that refuses the derived input needs an entry in --samples.',
]

/** Brackets surround an IPv6 address. */
const hostAndPort = z
  .string()
  .regex(/^(\[[\da-f:.]+\]|[\w.-]+):\d{1,5}$/i, '--jwks must be a host and a port, such as 127.0.0.1:9191')
  .transform((text) => {
    const colon = text.lastIndexOf(':')
    return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) }
  })
  .refine(({ port }) => port > 0 && port < 65_536, { message: '--jwks must have a port from 1 to 65535' })

const anyAccount = '01990000-0000-7000-8000-000000000009'

const Options = z.object({
  upstream: httpUrl('--upstream').refine(({ search, hash }) => search === '' && hash === '', {
    message: '--upstream must not have a query or fragment',
  }),
  domain: z.array(z.string(), '--domain is required: a domain that the service serves, such as wallets').min(1),
  audience: z.string().min(1, '--audience must not be empty').optional(),
  jwks: hostAndPort.optional(),
  samples: z.string().optional(),
  account: idOf('--account').default(anyAccount),
  workspace: idOf('--workspace').default(developmentIds.workspace),
  'yes-this-is-mine': z.boolean().default(false),
})
type Options = z.output<typeof Options>

const Samples = z.record(
  z.string(),
  z.strictObject({
    params: z.record(z.string(), z.string()).optional(),
    query: z.record(z.string(), z.unknown()).optional(),
    body: z.unknown().optional(),
  }),
)

const width = 72
const shownFindings = 5

/** Resolves with the exit code. */
export async function checkUpstream(
  values: Record<string, unknown>,
  { domains, variables, print, stderr }: CommandContext,
): Promise<number> {
  const options = parseOptions(Options, values)
  const settings = loadConfiguration(variables, domains)
  const { domains: loaded } = await loadConfigured(domains, settings)
  const catalogue = catalogueOf(loaded)
  const [first = ''] = parseDomains(catalogue, options.domain)
  const upstream = upstreamSettings(settings, first, {
    url: options.upstream.href,
    audience: audienceOf(settings, options.domain, options.audience),
  })
  try {
    const report = await runChecks(options, settings, upstream, catalogue, stderr)
    print(report, toText(report))
    return report.hasPassed ? 0 : 1
  } catch (error) {
    if (error instanceof ServiceUnreachable)
      throw new Error(`--upstream: cannot reach ${options.upstream.href}`, { cause: error })
    throw error
  }
}

function idOf(option: string) {
  return z.string().refine(isBizId, `${option} must be a UUID`)
}

async function runChecks(
  options: Options,
  settings: Configuration,
  upstream: UpstreamConfiguration,
  catalogue: Catalogue,
  stderr: Screen,
): Promise<ServiceReport> {
  const operations = catalogue.operations.filter(({ id }) => options.domain.includes(domainOf(id)))
  assertOwn(options, operations)
  const samples = readSamples(options.samples, operations)
  const recorded = readExamples(inPackage('docs/examples.json')).operations
  const { issuer } = settings.tokens
  const assertions = new Assertions(systemClock, systemIds, { issuer, audience: upstream.audience })
  const client = new ServiceClient(upstream, catalogue.isCode)
  await using stack = new AsyncDisposableStack()
  stack.defer(() => client.close())
  const keys = await openKeys(assertions, options, settings)
  stack.defer(() => keys.close())
  stderr.write(`keys: ${keys.url}, issuer: ${issuer}, audience: ${upstream.audience}\n`)
  return await withSpinner(stderr, 'checking', () =>
    checkService({
      operations,
      client,
      assertions,
      keys,
      ids: systemIds,
      callerOf: createCaller(options, catalogue),
      samplesOf: ({ id }) => [samples.get(id) ?? {}, toSample(recorded.get(id))],
      pause,
      onWaiting: (seconds) => {
        if (seconds === 0) stderr.write('waiting up to 35 s until the service fetches the keys\n')
      },
    }),
  )
}

function assertOwn(options: Options, operations: readonly Operation[]): void {
  const commands = operations.filter(({ method }) => method !== 'GET').length
  if (commands > 0 && !isLoopback(options.upstream) && !options['yes-this-is-mine'])
    throw new UsageError(
      `${options.upstream.host} is not this machine. Add --yes-this-is-mine if you may change its data. The check executes ${commands} commands`,
    )
}

/** Throws a UsageError that names the operation and the field. */
function readSamples(file: string | undefined, operations: readonly Operation[]): ReadonlyMap<string, Sample> {
  if (file === undefined) return new Map()
  try {
    const samples = Samples.parse(load(readFileSync(file, 'utf8')) ?? {})
    for (const [id, sample] of Object.entries(samples)) {
      const operation = operations.find((each) => each.id === id)
      if (!operation) throw new TypeError(`${id} is not an operation of the domain`)
      assertValidSample(operation, sample)
    }
    return new Map(Object.entries(samples))
  } catch (error) {
    const [issue] = error instanceof z.ZodError ? error.issues : []
    throw new UsageError(`--samples: ${issue ? [...issue.path, issue.message].join(': ') : messageOf(error)}`)
  }
}

async function openKeys(assertions: Assertions, { jwks }: Options, { listen }: Configuration) {
  const { host, port } = jwks ?? { host: listen.operationsHost ?? listen.host, port: listen.operationsPort }
  try {
    return await serveJwks(assertions.jwks(), host, port)
  } catch (cause) {
    throw new Error(`cannot serve keys at ${host}:${port}: stop the gateway, or set --jwks and the service`, { cause })
  }
}

/** A caller with every permission: an operator, or the owner of a workspace. */
function createCaller({ account, workspace }: Options, { operatorPermissions, workspacePermissions }: Catalogue) {
  return ({ chains: [first], policy }: Operation) => {
    const portal = chains[first].portal === 'SYSTEM' ? ('SYSTEM' as const) : ('CONSUMER' as const)
    const caller = {
      accountId: bizId<'account'>(account),
      portal,
      sessionId: bizId<'session'>('01990000-0000-7000-8000-00000000000a'),
      apiKeyId: null,
      steppedUpAt: systemClock.now(),
      permissions: new Set(portal === 'SYSTEM' ? operatorPermissions : []),
    }
    const access = { id: bizId<'workspace'>(workspace), isOwner: true, permissions: new Set(workspacePermissions) }
    return {
      portal,
      caller: policy.caller === 'anonymous' ? null : caller,
      workspace: policy.workspace === 'none' ? null : access,
    }
  }
}

function toSample({ params = {}, query, request }: Example = {}): Sample {
  return {
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)])),
    query,
    body: request,
  }
}

function toText({ checks, hasPassed }: ServiceReport): string {
  const count = (outcome: ServiceCheck['outcome']): number => checks.filter((each) => each.outcome === outcome).length
  const isEmpty = !hasPassed && count('failed') === 0
  return [
    `${'check'.padEnd(width)} count  result`,
    ...checks.map(line),
    '',
    `${count('ok')} passed, ${count('failed')} failed, ${count('unchecked')} not checked`,
    ...(isEmpty ? ['failed: no operation replied with data'] : []),
    '',
  ].join('\n')
}

function line({ check, requests, outcome, findings }: ServiceCheck): string {
  const start = `${check.padEnd(width)} ${String(requests).padStart(5)}  `
  if (outcome === 'unchecked') return `${start}not checked: ${findings.join('; ')}`
  const details = findings.slice(0, shownFindings).map((finding) => `    ${finding}`)
  return [`${start}${outcome === 'ok' ? 'ok' : `${findings.length} failed`}`, ...details].join('\n')
}
