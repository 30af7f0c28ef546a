import type { Exemplars } from '../../platform/telemetry/index.ts'

export const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/**
 * Converts the text format of Prometheus into OpenMetrics 1.0. A registry of prom-client has one format: its conversion
 * renames the counters for good, and its exemplars exclude the other format.
 */
export function toOpenMetrics(text: string, exemplars: Exemplars): string {
  const lines = text.split('\n').filter((line) => line !== '')
  // A family of counters has the name without the suffix of its samples.
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\S+)_total counter$/.exec(line)?.[1] ?? []))
  const converted = lines.map((line) => {
    const exemplar = exemplars.get(line.slice(0, line.lastIndexOf(' ')))
    if (exemplar !== undefined) return `${line} # ${exemplar}`
    const [, start = '', family = '', rest = ''] = /^(# (?:HELP|TYPE) )(\S+)_total( .*)$/.exec(line) ?? []
    return counters.has(family) ? start + family + rest : line
  })
  return `${converted.join('\n')}\n# EOF\n`
}

/** Whether a client prefers OpenMetrics to the text format. Clients without a preference get text. */
export function prefersOpenMetrics(accept: string): boolean {
  const quality = (type: string): number =>
    Math.max(
      0,
      ...accept.split(',').flatMap((range) => {
        const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
        const q = parameters.find((parameter) => parameter.startsWith('q='))
        return name === type ? [q === undefined ? 1 : Number(q.slice(2)) || 0] : []
      }),
    )
  return quality('application/openmetrics-text') > quality('text/plain')
}
