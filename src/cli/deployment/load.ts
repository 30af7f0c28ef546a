import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { packageVersion } from '../../config/env.ts'
import { messageOf, toIso } from '../../kernel/index.ts'
import { type Identities, readAccountsFile, readKeysFile, seededAccounts } from '../../load/accounts.ts'
import { type LoadPorts, runLoad } from '../../load/index.ts'
import { createOperationsListener } from '../../load/operations-listener.ts'
import { type About, toHtml, toText } from '../../load/report.ts'
import { type ScenarioName, scenarios } from '../../load/scenarios.ts'
import { systemClock, systemIds, systemRandomness } from '../../platform/runtime/index.ts'
import { type Command, type CommandContext, httpUrl, parseOptions, UsageError } from '../command.ts'
import { liveLine, type Screen } from '../progress.ts'
import { prepareAccounts } from './prepare.ts'
import { isLoopback } from './urls.ts'

const names = Object.keys(scenarios)

const Options = z.object({
  url: httpUrl('--url'),
  'operations-url': httpUrl('--operations-url').optional(),
  scenario: z.array(z.string().refine(isScenario, { message: `--scenario must be one of ${names.join(', ')}` })),
  rate: numberIn('--rate', 0.1, 10_000),
  duration: numberIn('--duration', 1, 604_800),
  'max-in-flight': numberIn('--max-in-flight', 1, 10_000),
  timeout: numberIn('--timeout', 1, 600_000),
  accounts: z.string().optional(),
  'api-keys': z.string().optional(),
  prepare: numberIn('--prepare', 2, 1_000).optional(),
  'consumer-code': z.string(),
  'no-edge-headers': z.boolean(),
  'max-p99': numberIn('--max-p99', 0.1, 600_000).optional(),
  'max-error-rate': numberIn('--max-error-rate', 0, 100),
  'min-rate-ratio': numberIn('--min-rate-ratio', 0, 1),
  html: z.string().optional(),
  'yes-this-is-mine': z.boolean(),
})
type Options = z.output<typeof Options>

const developmentOperations = new URL('http://127.0.0.1:9090')

export const load: Command = {
  name: 'load',
  summary: 'load-test a deployment, and check its money afterwards',
  help: [
    '  --url URL                the portal listener (http://127.0.0.1:8080)',
    '  --operations-url URL     the operations listener, for mailed codes and metrics (http://127.0.0.1:9090 if --url is local)',
    `  --scenario NAME          ${names.join(', ')}; repeatable (mixed-day)`,
    '  --rate N                 actions per second (20)',
    '  --duration SECONDS       length of each scenario (30)',
    '  --max-in-flight N        unfinished actions; further ones are dropped (200)',
    '  --timeout MS             timeout of a request (10000)',
    '  --accounts FILE          YAML or JSON list of { email, password, totpSecret }; without totpSecret, codes are read',
    '                           from the development outbox (default on this machine: the demo accounts)',
    '  --api-keys FILE          one API key per line, instead of accounts',
    '  --prepare N              create N funded accounts first; only for a development gateway on PostgreSQL, with its',
    '                           configuration and variables',
    '  --consumer-code CODE     access code of the CONSUMER portal (consumer-dev)',
    '  --no-edge-headers        omit CF-* and X-Forwarded-Proto: an edge in front of the target sets them',
    '  --max-p99 MS             maximum 99th percentile of each operation',
    '  --max-error-rate PERCENT maximum share of failed requests (1)',
    '  --min-rate-ratio RATIO   minimum ratio of the achieved to the planned rate (0.9)',
    '  --html FILE              write the result as a page',
    '  --yes-this-is-mine       allow a target on another machine',
    '',
    'Transfers small amounts between the wallets of the accounts. Afterwards checks orders, balances and isolation through',
    'the public interface. Exit code 1 if a threshold is missed or a check fails, 2 for invalid options.',
  ].join('\n'),
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8080' },
    'operations-url': { type: 'string' },
    scenario: { type: 'string', multiple: true, default: ['mixed-day'] },
    rate: { type: 'string', default: '20' },
    duration: { type: 'string', default: '30' },
    'max-in-flight': { type: 'string', default: '200' },
    timeout: { type: 'string', default: '10000' },
    accounts: { type: 'string' },
    'api-keys': { type: 'string' },
    prepare: { type: 'string' },
    'consumer-code': { type: 'string', default: 'consumer-dev' },
    'no-edge-headers': { type: 'boolean', default: false },
    'max-p99': { type: 'string' },
    'max-error-rate': { type: 'string', default: '1' },
    'min-rate-ratio': { type: 'string', default: '0.9' },
    html: { type: 'string' },
    'yes-this-is-mine': { type: 'boolean', default: false },
  },
  run: async (values, context) => {
    const { print, stderr } = context
    const options = parseOptions(Options, values)
    assertOwn(options)
    const identities = await identitiesOf(options, context)
    const { url, html, rate: ratePerSecond, duration: durationSeconds, 'max-in-flight': maxInFlight } = options
    if (html !== undefined) createReport(html)
    const about: About = {
      version: packageVersion(),
      url: url.href,
      startedAt: toIso(systemClock.now()),
      ratePerSecond,
      durationSeconds,
      maxInFlight,
      accounts: 'accounts' in identities ? identities.accounts.length : identities.apiKeys.length,
    }
    const thresholds = {
      maxP99Ms: options['max-p99'] ?? null,
      maxErrorPercent: options['max-error-rate'],
      minRateRatio: options['min-rate-ratio'],
    }
    const plan = { scenarios: options.scenario, ratePerSecond, durationSeconds, maxInFlight, thresholds }
    const result = await runLoad(identities, plan, portsOf(options, stderr))
    print({ about, ...result }, toText(result))
    if (html !== undefined) writeFileSync(html, toHtml(result, about))
    return result.passed ? 0 : 1
  },
}

function isScenario(name: string): name is ScenarioName {
  return Object.hasOwn(scenarios, name)
}

function numberIn(option: string, min: number, max: number) {
  return z
    .string()
    .transform(Number)
    .refine((value) => value >= min && value <= max, { message: `${option} must be a number from ${min} to ${max}` })
}

function assertOwn(options: Options): void {
  const foreign = [options.url, options['operations-url']].find((url) => url && !isLoopback(url))
  if (foreign && !options['yes-this-is-mine'])
    throw new UsageError(
      `${foreign.host} is not this machine. Add --yes-this-is-mine if you may load it. The test moves money between wallets of the test accounts`,
    )
}

async function identitiesOf(options: Options, context: CommandContext): Promise<Identities> {
  const { accounts, 'api-keys': apiKeys, prepare } = options
  if ([accounts, apiKeys, prepare].filter((each) => each !== undefined).length > 1)
    throw new UsageError('--accounts, --api-keys and --prepare cannot be combined')
  if (prepare !== undefined) return { accounts: await prepareAccounts(prepare, context) }
  if (accounts !== undefined) return { accounts: fromFile('--accounts', () => readAccountsFile(accounts)) }
  if (apiKeys === undefined) {
    if (isLoopback(options.url)) return { accounts: seededAccounts }
    throw new UsageError(
      '--accounts or --api-keys is required, because only a development gateway has the demo accounts',
    )
  }
  const keys = fromFile('--api-keys', () => readKeysFile(apiKeys))
  if (keys.length === 0) throw new UsageError(`--api-keys: ${apiKeys} has no key`)
  const impossible = options.scenario.find((name) => name === 'sign-ins' || name === 'encrypted-posts')
  if (impossible) throw new UsageError(`--scenario ${impossible} needs --accounts, because API keys have no sign-in`)
  return { apiKeys: keys }
}

/** Reads a file of an option. Throws a UsageError if it cannot be read. */
function fromFile<T>(option: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UsageError(`${option}: ${messageOf(error)}`)
  }
}

/** Creates the file before the run, so that a long run is not lost to a wrong path. */
function createReport(file: string): void {
  fromFile(file, () => writeFileSync(file, ''))
}

function portsOf(options: Options, stderr: Screen): LoadPorts {
  const operationsUrl = options['operations-url'] ?? (isLoopback(options.url) ? developmentOperations : undefined)
  const showLine = liveLine(stderr)
  return {
    url: options.url.href,
    consumerCode: options['consumer-code'],
    edgeHeaders: !options['no-edge-headers'],
    timeoutMs: options.timeout,
    operations: operationsUrl ? createOperationsListener(operationsUrl.href, { fetch, pause }) : null,
    now: () => performance.now(),
    clock: systemClock,
    ids: systemIds,
    randomness: systemRandomness,
    pause,
    fetch,
    onProgress: ({ scenario, elapsedSeconds, durationSeconds, requests, errors, dropped, p50, p99, isFinished }) => {
      const time = `${Math.round(elapsedSeconds)} of ${durationSeconds} s`
      showLine(
        `${scenario}: ${time}, ${requests} requests, ${errors} errors, ${dropped} dropped, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
        isFinished,
      )
    },
  }
}
