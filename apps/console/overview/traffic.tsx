import type { Overview } from 'portal-client'
import { lazy, Suspense } from 'react'
import { formatCount, formatMs, formatShare } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Section } from '../../kit/page.tsx'

type Minute = Overview['minutes'][number]

/** uPlot is needed only here. */
const Chart = lazy(() => import('./chart.tsx'))

/** Requests per second, error share and duration in the last hour. */
export function Traffic({ minutes }: Pick<Overview, 'minutes'>) {
  // The last minute is not complete, so its rate would be too low.
  const complete = minutes.slice(0, -1)
  return (
    <Section title={t('overview.traffic')}>
      <div className="cards">
        <Measure
          title={t('overview.rate')}
          minutes={complete}
          read={({ requests }) => requests / 60}
          format={formatCount}
        />
        <Measure title={t('overview.errors')} minutes={complete} read={errorShareOf} format={formatShare} />
        <Measure title={t('overview.p99')} minutes={complete} read={({ p99Ms }) => p99Ms} format={formatMs} />
      </div>
    </Section>
  )
}

interface MeasureProps {
  title: string
  minutes: readonly Minute[]
  /** Null in a minute without requests. */
  read(minute: Minute): number | null
  format(value: number): string
}

/** The numbers say in words what the picture shows. */
function Measure({ title, minutes, read, format }: MeasureProps) {
  const values = minutes.map(read)
  const known = values.filter((value) => value !== null)
  const last = values.at(-1) ?? null
  return (
    <figure className="overview-measure">
      <figcaption>
        <span>{title}</span>
        <span className="figure">{last === null ? t('overview.none') : format(last)}</span>
        <span className="hint">
          {known.length === 0 ? t('overview.noTraffic') : t('overview.peak', { value: format(Math.max(...known)) })}
        </span>
      </figcaption>
      <Suspense fallback={<div className="overview-chart" />}>
        <Chart at={minutes.map(({ at }) => Date.parse(at) / 1_000)} values={values} format={format} />
      </Suspense>
    </figure>
  )
}

function errorShareOf({ requests, failed }: Minute): number | null {
  return requests === 0 ? null : failed / requests
}
