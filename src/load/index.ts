/*
 * The load test of `portico load`: sends scenarios to a deployment at a constant arrival rate, measures them, and checks
 * through the public interface that no money and no order is wrong. Depends on the client and contract files. Start
 * reading with `runLoad`; `scenarios.ts` plans requests, `arrivals.ts` schedules them, `checks.ts` verifies the result.
 */
import { type Ids, messageOf } from '../kernel/index.ts'
import { type AccountPorts, type Actor, closeActors, type Identities, openActors } from './accounts.ts'
import { runArrivals } from './arrivals.ts'
import { type Check, checkMoney, takeSnapshot, toCheck } from './checks.ts'
import { EdgeWatch } from './edge.ts'
import type { Figures } from './measurements.ts'
import type { ProcessSample } from './operations-listener.ts'
import { Run, type RunPorts } from './run.ts'
import { type Mix, pickAction, type ScenarioName, scenarios } from './scenarios.ts'
import { TransferBook } from './transfers.ts'

export interface LoadOptions {
  scenarios: readonly ScenarioName[]
  ratePerSecond: number
  durationSeconds: number
  maxInFlight: number
  thresholds: Thresholds
}

export interface Thresholds {
  /** Maximum 99th percentile of each operation, in milliseconds. Null means no limit. */
  maxP99Ms: number | null
  maxErrorPercent: number
  /** Minimum ratio of the achieved to the planned rate. */
  minRateRatio: number
}

export interface LoadPorts extends AccountPorts, RunPorts {
  ids: Ids
  /** Called once per second during a run. */
  onProgress(progress: Progress): void
}

export interface Progress {
  scenario: ScenarioName
  elapsedSeconds: number
  durationSeconds: number
  requests: number
  errors: number
  dropped: number
  p50: number
  p99: number
  isFinished: boolean
}

/** A threshold and the value that was measured. */
export interface Verdict {
  name: string
  limit: string
  measured: string
  passed: boolean
}

export interface ScenarioResult {
  scenario: ScenarioName
  figures: Figures
  checks: Check[]
  verdicts: Verdict[]
  /** Hints for the person who reads the result. */
  notes: string[]
  /** Samples of the gateway at the start and the end. Null without access to its metrics. */
  gateway: { start: ProcessSample; end: ProcessSample } | null
}

export interface LoadResult {
  passed: boolean
  scenarios: ScenarioResult[]
  /** The error that prevented a later scenario, or null. */
  failure: string | null
}

const progressMs = 1_000
const limitHint =
  'rate limits of the target refused requests, usually the one per address: see docs/guides/load-test.md, or lower --rate'

/**
 * Runs scenarios one after another. Signs the accounts in before and out afterwards. Rejects if the first scenario
 * cannot start.
 */
export async function runLoad(identities: Identities, options: LoadOptions, ports: LoadPorts): Promise<LoadResult> {
  const edge = new EdgeWatch(ports.fetch)
  const actors = await openActors(identities, { ...ports, fetch: edge.fetch })
  const results: ScenarioResult[] = []
  try {
    for (const name of options.scenarios) results.push(await runScenario(name, actors, edge, options, ports))
    return { passed: results.every(isPassed), scenarios: results, failure: null }
  } catch (error) {
    if (results.length === 0) throw error
    const failure = `${options.scenarios[results.length]} did not run: ${messageOf(error)}`
    return { passed: false, scenarios: results, failure }
  } finally {
    await closeActors(actors)
  }
}

async function runScenario(
  name: ScenarioName,
  actors: readonly Actor[],
  edge: EdgeWatch,
  options: LoadOptions,
  ports: LoadPorts,
): Promise<ScenarioResult> {
  const { ratePerSecond, durationSeconds, maxInFlight, thresholds } = options
  const { now, pause, randomness } = ports
  const hasAccounts = actors.some(({ visit }) => visit !== null)
  const { mix: planned, stages } = scenarios[name]
  const mix = hasAccounts ? planned : withoutSignIns(planned)
  const before = await takeSnapshot(actors)
  const balances = new Map(before.wallets.map(({ wallet, available }) => [wallet.bizId, available]))
  const book = new TransferBook(actors, balances, ports)
  if ('transfer' in mix || 'sealed-transfer' in mix) book.assertPossible()
  const start = await ports.operations?.sample()
  const run = new Run(actors, book, durationSeconds, ports)
  const { measurements } = run
  const begun = now()
  const report = (isFinished: boolean): void =>
    ports.onProgress({
      isFinished,
      scenario: name,
      elapsedSeconds: (now() - begun) / 1_000,
      durationSeconds,
      ...measurements.counts(),
    })
  const timer = setInterval(() => report(false), progressMs)
  try {
    await runArrivals({
      stages: stages(ratePerSecond, durationSeconds),
      maxInFlight,
      now,
      pause,
      start: (due) => {
        measurements.schedule()
        return run.act(pickAction(mix, randomness), due)
      },
      drop: () => {
        measurements.schedule()
        measurements.drop()
      },
    })
  } finally {
    clearInterval(timer)
  }
  report(true)
  const end = await ports.operations?.sample()
  const figures = measurements.figures()
  const checks = [
    ...(await checkMoney(before, book.commands).catch(unreadable)),
    toCheck('no reply of one account reached another', `${figures.requests - figures.errors} replies`, run.leaks),
    edge.check(),
  ]
  const notes = [...run.failures]
  if (Object.keys(figures.outcomes).some((outcome) => outcome.startsWith('429 '))) notes.push(limitHint)
  const gateway = start && end ? { start, end } : null
  return { scenario: name, figures, checks, verdicts: evaluate(figures, thresholds), notes, gateway }
}

/** An API key cannot sign in, so it reads instead. */
function withoutSignIns(mix: Mix): Mix {
  const { 'sign-in': signIns = 0, ...rest } = mix
  return { ...rest, read: (rest.read ?? 0) + signIns }
}

/** Reports that the target does not answer the reads of the checks, so that the measurements are not lost. */
function unreadable(error: unknown): Check[] {
  return [toCheck('orders and balances can be read', 'not checked', [messageOf(error)])]
}

function evaluate(figures: Figures, { maxP99Ms, maxErrorPercent, minRateRatio }: Thresholds): Verdict[] {
  const errorPercent = figures.requests === 0 ? 100 : (figures.errors / figures.requests) * 100
  const ratio = figures.achievedRate / figures.plannedRate
  const slowest = Math.max(...figures.operations.map(({ p99 }) => p99), 0)
  const verdicts: Verdict[] = [
    {
      name: 'error rate',
      limit: `at most ${maxErrorPercent} %`,
      measured: `${errorPercent.toFixed(2)} %`,
      passed: errorPercent <= maxErrorPercent,
    },
    {
      name: 'achieved to planned rate',
      limit: `at least ${minRateRatio}`,
      measured: ratio.toFixed(3),
      passed: ratio >= minRateRatio,
    },
  ]
  if (maxP99Ms === null) return verdicts
  const p99 = {
    name: 'p99 of the slowest operation',
    limit: `at most ${maxP99Ms} ms`,
    measured: `${slowest.toFixed(1)} ms`,
  }
  return [...verdicts, { ...p99, passed: slowest <= maxP99Ms }]
}

function isPassed({ checks, verdicts }: ScenarioResult): boolean {
  return checks.every(({ violations }) => violations === 0) && verdicts.every(({ passed }) => passed)
}
