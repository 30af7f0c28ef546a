import { AggregatorRegistry, type Registry } from 'prom-client'
import * as z from 'zod'
import type { Metrics } from '../../../platform/telemetry/index.ts'

/** JSON has no NaN, which some gauges have. */
const value = z
  .number()
  .nullable()
  .transform((number) => number ?? Number.NaN)

const WorkerMetrics = z.object({
  metrics: z.array(
    z.object({
      name: z.string(),
      help: z.string(),
      type: z.enum(['counter', 'gauge', 'histogram', 'summary']),
      aggregator: z.string(),
      values: z.array(
        z.object({
          value,
          labels: z.record(z.string(), z.union([z.string(), z.number()])),
          metricName: z.string().optional(),
        }),
      ),
    }),
  ),
  exemplars: z.array(z.tuple([z.string(), z.string()])),
})
type WorkerMetrics = z.output<typeof WorkerMetrics>

/** Path on the socket of a worker. */
export const workerMetricsPath = '/metrics/worker'

/** Sent to the supervisor. */
export async function describeMetrics({ registry, expose }: Pick<Metrics, 'registry' | 'expose'>) {
  const { exemplars } = await expose()
  return { metrics: await registry.getMetricsAsJSON(), exemplars: [...exemplars] }
}

type Sum = Awaited<ReturnType<Metrics['expose']>>

export interface WorkerReport {
  pid: number
  /** Null if the worker did not answer. */
  body: Buffer | null
}

/**
 * The metrics of a machine: each metric by its own rule, `aggregator`, which is the sum for counters and histograms. They
 * include those of dead workers, as of their last answer, because a counter that falls looks like a restart, and its rate
 * would rise by everything that the others have counted.
 */
export class SummedMetrics {
  /** By process. */
  readonly #last = new Map<number, WorkerMetrics>()
  #dead: WorkerMetrics['metrics'] = []
  #previous: Promise<unknown> = Promise.resolve()

  /** One after the other: between two steps of a sum, the counts of a worker that has ended are in neither place. */
  sum(reports: readonly WorkerReport[]): Promise<Sum> {
    const sum = this.#previous.then(() => this.#sum(reports))
    this.#previous = sum.catch(() => undefined)
    return sum
  }

  async #sum(reports: readonly WorkerReport[]): Promise<Sum> {
    for (const { pid, body } of reports) if (body) this.#last.set(pid, WorkerMetrics.parse(JSON.parse(body.toString())))
    await this.#keepDead(new Set(reports.map(({ pid }) => pid)))
    const silent = new Set(reports.flatMap(({ pid, body }) => (body ? [] : [pid])))
    const current = [...this.#last].map(([pid, { metrics }]) => (silent.has(pid) ? countersOf(metrics) : metrics))
    const registry = aggregate([...current, this.#dead])
    return {
      contentType: registry.contentType,
      text: await registry.metrics(),
      exemplars: new Map([...this.#last.values()].flatMap(({ exemplars }) => exemplars)),
    }
  }

  async #keepDead(living: ReadonlySet<number>): Promise<void> {
    const dead = [...this.#last].filter(([pid]) => !living.has(pid))
    if (dead.length === 0) return
    for (const [pid] of dead) this.#last.delete(pid)
    const registry = aggregate([this.#dead, ...dead.map(([, { metrics }]) => countersOf(metrics))])
    this.#dead = z.array(WorkerMetrics.shape.metrics.element).parse(await registry.getMetricsAsJSON())
  }
}

function aggregate(metrics: readonly WorkerMetrics['metrics'][]): Registry {
  return AggregatorRegistry.aggregate(metrics.filter((each) => each.length > 0))
}

function countersOf(metrics: WorkerMetrics['metrics']): WorkerMetrics['metrics'] {
  return metrics.filter(({ type }) => type === 'counter' || type === 'histogram')
}
