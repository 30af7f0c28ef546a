/** Bucket `n` ends at `growth ** n` microseconds, so a percentile is at most 2 % too high. */
const growth = 1.02

/** A histogram of latencies with logarithmic buckets. Its size does not depend on the number of values. */
export class Histogram {
  count = 0
  max = 0
  private readonly buckets = new Map<number, number>()

  record(milliseconds: number): void {
    const bucket = bucketOf(milliseconds)
    this.buckets.set(bucket, (this.buckets.get(bucket) ?? 0) + 1)
    this.count += 1
    this.max = Math.max(this.max, milliseconds)
  }

  /** Returns the latency in milliseconds that a share (0 to 1) of the values does not exceed. Returns 0 if empty. */
  percentile(share: number): number {
    const rank = Math.ceil(share * this.count)
    let seen = 0
    for (const [bucket, count] of [...this.buckets].sort(([a], [b]) => a - b)) {
      seen += count
      if (seen >= rank) return Math.min(this.max, growth ** bucket / 1_000)
    }
    return this.max
  }
}

/** Latencies in milliseconds. */
export interface Percentiles {
  p50: number
  p90: number
  p99: number
  p999: number
  max: number
}

/** The measurements of one operation. */
export interface OperationFigures extends Percentiles {
  /** Operation id of the contract. */
  operation: string
  requests: number
  errors: number
}

/** The measurements of one interval of a run. */
export interface Interval {
  /** Seconds from the start of the run to the start of the interval. */
  second: number
  requests: number
  errors: number
  p50: number
  p99: number
}

/** Everything that was measured in one scenario. */
export interface Figures extends Percentiles {
  requests: number
  errors: number
  /** Scheduled actions that were not started. */
  dropped: number
  /** Scheduled actions per second. */
  plannedRate: number
  /** Actions without an error per second, from the start to the last response. */
  achievedRate: number
  operations: OperationFigures[]
  /** Number of requests by outcome: `200`, or status and refusal code, or a code of the client such as `CLIENT.TIMEOUT`. */
  outcomes: Record<string, number>
  intervals: Interval[]
  /** Length of an interval in seconds. */
  intervalSeconds: number
  /** Pairs of a share of the requests in percent, and the latency that they do not exceed in milliseconds. */
  distribution: [percent: number, milliseconds: number][]
}

const shownPercents = [0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100]
const maxIntervals = 120

interface Tally {
  histogram: Histogram
  errors: number
}

/** The outcome of a successful request. The gateway sends every successful JSON reply with this status. */
export const success = '200'

/** Records the requests of one scenario. Times are milliseconds of a monotonic clock. */
export class Measurements {
  readonly intervalSeconds: number
  private readonly startedAt: number
  private readonly durationSeconds: number
  private endedAt: number
  private readonly total: Tally = { histogram: new Histogram(), errors: 0 }
  private readonly byOperation = new Map<string, Tally>()
  private readonly byInterval = new Map<number, Tally>()
  private readonly outcomes = new Map<string, number>()
  private planned = 0
  private dropped = 0
  private completed = 0

  constructor(startedAt: number, durationSeconds: number) {
    this.startedAt = startedAt
    this.endedAt = startedAt + durationSeconds * 1_000
    this.intervalSeconds = Math.max(1, Math.ceil(durationSeconds / maxIntervals))
    this.durationSeconds = durationSeconds
  }

  /** Records a request: its operation, the scheduled start, the time of its response, and its outcome. */
  record(operation: string, startedAt: number, endedAt: number, outcome: string): void {
    const latency = endedAt - startedAt
    const isError = outcome !== success
    const interval = Math.max(0, Math.floor((startedAt - this.startedAt) / 1_000 / this.intervalSeconds))
    add(this.total, latency, isError)
    add(tallyIn(this.byOperation, operation), latency, isError)
    add(tallyIn(this.byInterval, interval), latency, isError)
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
    this.endedAt = Math.max(this.endedAt, endedAt)
  }

  /** Counts a scheduled action. An action has one request, except a sign-in. */
  schedule(): void {
    this.planned += 1
  }

  drop(): void {
    this.dropped += 1
  }

  /** Counts an action that finished without an error. */
  complete(): void {
    this.completed += 1
  }

  /** Returns the counts so far, for the display of the progress. */
  counts() {
    const { histogram, errors } = this.total
    return {
      requests: histogram.count,
      errors,
      dropped: this.dropped,
      p50: histogram.percentile(0.5),
      p99: histogram.percentile(0.99),
    }
  }

  figures(): Figures {
    const { histogram, errors } = this.total
    return {
      requests: histogram.count,
      errors,
      dropped: this.dropped,
      plannedRate: this.planned / this.durationSeconds,
      achievedRate: (this.completed * 1_000) / (this.endedAt - this.startedAt),
      ...percentilesOf(histogram),
      operations: [...this.byOperation]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([operation, tally]) => ({
          operation,
          requests: tally.histogram.count,
          errors: tally.errors,
          ...percentilesOf(tally.histogram),
        })),
      outcomes: Object.fromEntries([...this.outcomes].sort(([a], [b]) => a.localeCompare(b))),
      intervals: [...this.byInterval]
        .sort(([a], [b]) => a - b)
        .map(([interval, tally]) => ({
          second: interval * this.intervalSeconds,
          requests: tally.histogram.count,
          errors: tally.errors,
          p50: tally.histogram.percentile(0.5),
          p99: tally.histogram.percentile(0.99),
        })),
      intervalSeconds: this.intervalSeconds,
      distribution: shownPercents.map((percent) => [percent, histogram.percentile(percent / 100)]),
    }
  }
}

function bucketOf(milliseconds: number): number {
  return milliseconds <= 0.001 ? 0 : Math.ceil(Math.log(milliseconds * 1_000) / Math.log(growth) - 1e-9)
}

function add(tally: Tally, milliseconds: number, isError: boolean): void {
  tally.histogram.record(milliseconds)
  if (isError) tally.errors += 1
}

function tallyIn<K>(tallies: Map<K, Tally>, key: K): Tally {
  const tally = tallies.get(key) ?? { histogram: new Histogram(), errors: 0 }
  tallies.set(key, tally)
  return tally
}

function percentilesOf(histogram: Histogram): Percentiles {
  return {
    p50: histogram.percentile(0.5),
    p90: histogram.percentile(0.9),
    p99: histogram.percentile(0.99),
    p999: histogram.percentile(0.999),
    max: histogram.max,
  }
}
