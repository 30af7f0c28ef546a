import type { ReadRequestReply } from 'portal-client'
import { formatMs } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'

type Decision = ReadRequestReply['decisions'][number]
type Stage = Decision['stages'][number]

/** Signs repeat the verdicts for those who do not see the colors. The text carries the meaning. */
const signs: Readonly<Record<Stage['verdict'] | Decision['hooks'][number]['verdict'], string>> = {
  passed: '✓',
  refused: '✕',
  failed: '!',
  abandoned: '◌',
  running: '…',
  'not reached': '–',
}

interface StagesProps {
  stages: readonly Stage[]
  totalMs: number
}

/** The stages in order, each with a bar from its start to its end. */
export function Stages({ stages, totalMs }: StagesProps) {
  const sum = stages.reduce((total, { ms }) => total + (ms ?? 0), 0)
  const scale = Math.max(sum, totalMs, Number.MIN_VALUE)
  let start = 0
  const placed = stages.map((stage) => {
    const from = start
    start += stage.ms ?? 0
    return { stage, from }
  })
  return (
    <>
      <ol className="requests-stages" aria-label={t('requests.stages')}>
        {placed.map(({ stage, from }) => (
          <li key={stage.stage} className={`requests-stage requests-${classOf(stage.verdict)}`}>
            <code>{stage.stage}</code>
            <Verdict verdict={stage.verdict} />
            <Bar from={from / scale} length={(stage.ms ?? 0) / scale} />
            <span className="end">{stage.ms === null ? '' : formatMs(stage.ms)}</span>
          </li>
        ))}
      </ol>
      <p className="hint">{t('requests.total', { duration: formatMs(totalMs) })}</p>
    </>
  )
}

/** What other domains decided about the request. */
export function Hooks({ hooks }: Pick<Decision, 'hooks'>) {
  return (
    <ol className="requests-hooks" aria-label={t('requests.hooks')}>
      {hooks.map(({ domain, verdict }) => (
        <li key={domain} className={`requests-${classOf(verdict)}`}>
          <code>{domain}</code> <Verdict verdict={verdict} />
        </li>
      ))}
    </ol>
  )
}

function Verdict({ verdict }: { verdict: keyof typeof signs }) {
  return (
    <span className="requests-verdict">
      <span aria-hidden="true">{signs[verdict]}</span> {t(`requests.verdict_${verdict.replace(' ', '_')}`)}
    </span>
  )
}

/** Shares of the whole width. A stage that took no time is a thin line. */
function Bar({ from, length }: { from: number; length: number }) {
  const width = Math.max(length * 100, 0.5)
  return (
    <svg className="requests-bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect x={Math.min(from * 100, 100 - width)} y="0" width={width} height="1" />
    </svg>
  )
}

function classOf(verdict: string): string {
  return verdict.replace(' ', '-')
}
