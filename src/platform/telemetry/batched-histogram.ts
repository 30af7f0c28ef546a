import { Histogram, type Registry } from 'prom-client'

export interface BatchedHistogram {
  /** Takes the values of both labels, in order. */
  observe(first: string, second: string, seconds: number): void
}

interface Options {
  name: string
  help: string
  labels: [first: string, second: string]
  /** Upper bounds, in seconds. */
  buckets: number[]
  registry: Registry
}

/** Maximum number of observations per series that are not counted yet. */
const maxPending = 1_000

interface Series {
  observe(seconds: number): void
  pending: number[]
}

const flush = (series: Series): void => {
  for (const seconds of series.pending) series.observe(seconds)
  series.pending.length = 0
}

/**
 * A histogram of durations with two labels. Observations are collected and counted in batches, at a scrape or when there
 * are 1,000: prom-client validates and joins the labels for each one, which is cheaper in a batch.
 */
export const createBatchedHistogram = ({ name, help, labels, buckets, registry }: Options): BatchedHistogram => {
  const known = new Map<string, Map<string, Series>>()
  const histogram = new Histogram({
    name,
    help,
    labelNames: labels,
    buckets,
    registers: [registry],
    collect: () => {
      for (const seconds of known.values()) for (const series of seconds.values()) flush(series)
    },
  })
  const open = (first: string, second: string): Series => {
    const series = { observe: histogram.labels(first, second).observe, pending: [] }
    const siblings = known.get(first) ?? new Map<string, Series>()
    known.set(first, siblings.set(second, series))
    return series
  }
  return {
    observe: (first, second, seconds) => {
      const series = known.get(first)?.get(second) ?? open(first, second)
      if (series.pending.push(seconds) >= maxPending) flush(series)
    },
  }
}
