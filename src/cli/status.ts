import { z } from 'zod'
import { type Configuration, loadConfiguration } from '../config/index.ts'
import { Status } from '../gateway/index.ts'
import { fetchText, parseJson } from '../platform/http-client.ts'
import { type Command, httpUrl, parseOptions, UsageError } from './command.ts'
import { toLine, toTable } from './table.ts'

/** A replica takes up to two seconds. The reply of hundreds of replicas has less than a megabyte. */
const limits = { timeoutMs: 10_000, maxBytes: 16 * 1024 * 1024 }

const Options = z.object({ 'operations-url': httpUrl('--operations-url').optional() })
const options: Command['options'] = { 'operations-url': { type: 'string' } }
const urlHelp =
  '  --operations-url URL     operations listener of one replica (that of the configuration, on this machine)'

export const status: Command = {
  name: 'status',
  summary: 'show the replicas, backends, queues, ledger and audit state of a deployment',
  help: [
    urlHelp,
    '',
    'One replica asks all of them, which need REDIS_URL to know each other. Exit code 1 if a replica does not answer, is not',
    'ready or has a degraded check or an open circuit, or the ledger or the audit log is broken.',
  ].join('\n'),
  options,
  run: async (values, { domains, variables, print }) => {
    const settings = loadConfiguration(variables, domains)
    const url = operationsUrl(settings, parseOptions(Options, values)['operations-url'])
    const { body: read } = await ask(url, '/status', Status)
    print(read, describe(read))
    return read.isHealthy ? 0 : 1
  },
}

const Explanation = z.looseObject({
  replica: z.string(),
  at: z.string(),
  operation: z.string().nullish(),
  status: z.number().nullish(),
  code: z.string().nullish(),
  internal: z.string().nullish(),
  ms: z.number().nullish(),
  type: z.string().nullish(),
  domain: z.string().nullish(),
  verdict: z.string().nullish(),
  stages: z.array(z.looseObject({ stage: z.string(), verdict: z.string(), ms: z.number().optional() })).default([]),
})
type Explanation = z.output<typeof Explanation>

function toExplanations(entry: unknown): Explanation[] {
  const { data } = Explanation.safeParse(entry)
  return data ? [data] : []
}

export const explain: Command = {
  name: 'explain',
  argument: 'id',
  summary: 'show what happened to a request, on all replicas',
  help: [
    '  id                       X-Request-Id or Idempotency-Key of the request, or the id of an event or its object',
    urlHelp,
    '',
    'Replicas keep requests for explain.ttlMs, in memory. Exit code 1 if none of them knows the id.',
  ].join('\n'),
  options,
  run: async ({ id, ...values }, { domains, variables, print, stderr }) => {
    const settings = loadConfiguration(variables, domains)
    if (typeof id !== 'string') throw new UsageError('the id is required: portico explain <request id>')
    const url = operationsUrl(settings, parseOptions(Options, values)['operations-url'])
    const { body, missing } = await ask(url, `/explain/${encodeURIComponent(id)}`, z.array(z.unknown()))
    // Replicas of other versions can have entries that this version cannot read.
    const entries = body.flatMap(toExplanations)
    if (missing) stderr.write(`portico: these replicas do not answer: ${missing}\n`)
    print(
      { entries, missing: missing ? missing.split(', ') : [] },
      entries.length === 0 ? `no replica knows ${id}\n` : entries.map(describeEntry).join('\n'),
    )
    return entries.length > 0 ? 0 : 1
  },
}

function operationsUrl({ listen }: Configuration, url: URL | undefined): string {
  return url ? `${url.origin}${url.pathname.replace(/\/$/, '')}` : `http://127.0.0.1:${listen.operationsPort}`
}

/** Throws an Error that names the option if another server responds, such as the portal listener. */
async function ask<T>(url: string, path: string, schema: z.ZodType<T>): Promise<{ body: T; missing: string }> {
  const response = await fetchText(url + path, limits).catch((cause: unknown) => {
    throw new Error(`${url} cannot be read: set --operations-url`, { cause })
  })
  if (response.status === 421)
    throw new Error(`${url} does not allow this host name: use an address, or add it to listen.operationsAllowedHosts`)
  const read = schema.safeParse(tryParseJson(response.text))
  if (!read.success)
    throw new Error(
      `${url} responds with ${response.status}, unlike the operations listener of this version: set --operations-url`,
    )
  return { body: read.data, missing: response.headers.get('x-portico-missing-replicas') ?? '' }
}

function tryParseJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

function describe({ problems, replicas, missing, shared }: Status): string {
  const { ledger, audit, auditHead, jobs, eventsLagSeconds, webhookDeliveriesWaiting } = shared
  return [
    toTable([
      ['replica', 'role', 'version', 'state', 'uptime', 'skew', 'lag', 'memory', 'waiting'],
      ...replicas.map((each) => [
        each.replica,
        each.role,
        each.version,
        each.readiness,
        duration(each.uptimeSeconds),
        `${each.clockSkewSeconds.toFixed(3)} s`,
        `${(each.eventLoopLagSeconds * 1_000).toFixed(0)} ms`,
        `${Math.round(each.memoryBytes.rss / 1_048_576)} MB`,
        nonZero(each.queues) || 'nothing',
      ]),
      ...missing.map(({ replica, lastSeenAt }) => [replica, '', '', `missing since ${lastSeenAt}`, '', '', '', '', '']),
    ]),
    ...replicas.flatMap(({ replica, checks, reasons }) =>
      Object.entries(checks)
        .filter(([, state]) => state !== 'ok')
        .map(([name, state]) => toLine(`${replica}: ${name} ${state}: ${reasons[name] ?? 'no reason'}`)),
    ),
    ...replicas.flatMap(({ replica, backends }) =>
      Object.entries(backends).map(([backend, circuit]) => toLine(`${replica}: circuit of ${backend}: ${circuit}`)),
    ),
    toTable([
      [
        'ledger',
        ledger
          ? `${ledger.brokenRule ? `BROKEN: ${ledger.brokenRule} (${ledger.discrepancies})` : 'consistent'}, checked ${ledger.checkedAt}`
          : 'not checked yet',
      ],
      [
        'audit log',
        audit
          ? `${audit.intact ? 'intact' : 'BROKEN'}, verified ${audit.at}`
          : 'not verified by a gateway since its start',
      ],
      ['audit head', auditHead ?? 'unknown'],
      [
        'jobs',
        jobs ? `${jobs.due} due, ${jobs.retrying} waiting for a retry, ${jobs.failed} failed for good` : 'unknown',
      ],
      ['events', eventsLagSeconds === null ? 'unknown' : `${eventsLagSeconds} s late`],
      ['webhooks', webhookDeliveriesWaiting === null ? 'none' : `${webhookDeliveriesWaiting} deliveries waiting`],
    ]),
    ...problems.map((problem) => toLine(`PROBLEM: ${problem}`)),
  ].join('')
}

function describeEntry(entry: Explanation): string {
  const last = entry.stages.find(({ verdict }) => verdict === 'refused' || verdict === 'abandoned')
  const [slowest] = entry.stages.filter(({ ms }) => ms !== undefined).toSorted((a, b) => (b.ms ?? 0) - (a.ms ?? 0))
  const facts: [string, string | number | null | undefined][] = [
    ['replica', entry.replica],
    ['at', entry.at],
    ['operation', entry.operation],
    ['event', entry.type],
    ['domain', entry.domain],
    ['status', entry.status],
    ['code', entry.code],
    ['reason', entry.internal],
    ['stage', last ? `${last.stage}: ${last.verdict}` : entry.verdict],
    ['took', entry.ms == null ? null : `${entry.ms} ms`],
    ['slowest', slowest && `${slowest.stage}: ${slowest.ms} ms`],
  ]
  return toTable(facts.flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]])))
}

function nonZero(queues: Readonly<Record<string, number>>): string {
  return Object.entries(queues)
    .filter(([, waiting]) => waiting > 0)
    .map(([queue, waiting]) => `${queue} ${waiting}`)
    .join(', ')
}

function duration(totalSeconds: number): string {
  const minutes = Math.floor(totalSeconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}
