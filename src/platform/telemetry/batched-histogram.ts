import { Histogram, type Registry } from 'prom-client'

export interface BatchedHistogram {
  /** The values of both labels, in their order. */
  observe(first: string, second: string, seconds: number): void
}

interface Form {
  name: string
  help: string
  labels: [first: string, second: string]
  /** Upper bounds, in seconds. */
  buckets: number[]
  registry: Registry
}

/** So many wait at most. */
const maxPending = 1_000

interface Series {
  observe(seconds: number): void
  waiting: number[]
}

const count = (series: Series): void => {
  for (const seconds of series.waiting) series.observe(seconds)
  series.waiting.length = 0
}

/**
 * A histogram of times under two labels. prom-client checks and joins the labels anew for each observation, which costs less for
 * many at once: they wait until somebody asks, or there are enough of them.
 */
export const createBatchedHistogram = ({ name, help, labels, buckets, registry }: Form): BatchedHistogram => {
  const known = new Map<string, Map<string, Series>>()
  const histogram = new Histogram({
    name,
    help,
    labelNames: labels,
    buckets,
    registers: [registry],
    collect: () => {
      for (const seconds of known.values()) for (const series of seconds.values()) count(series)
    },
  })
  const open = (first: string, second: string): Series => {
    const series = { observe: histogram.labels(first, second).observe, waiting: [] }
    const siblings = known.get(first) ?? new Map<string, Series>()
    known.set(first, siblings.set(second, series))
    return series
  }
  return {
    observe: (first, second, seconds) => {
      const series = known.get(first)?.get(second) ?? open(first, second)
      if (series.waiting.push(seconds) >= maxPending) count(series)
    },
  }
}
