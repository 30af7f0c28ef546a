import { Link } from 'wouter'
import { formatCount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Section } from '../../kit/page.tsx'
import { Age } from '../../kit/time.tsx'
import { paths, type Queue } from './queues.ts'

/** The work that waits, by kind and age. */
export function Waiting({ queues }: { queues: readonly Queue[] }) {
  const isIdle = queues.every(({ waiting }) => waiting === 0)
  return (
    <Section title={t('overview.waiting')}>
      {queues.length === 0 && <p>{t('overview.noQueues')}</p>}
      {queues.length > 0 && isIdle && <p>{t('overview.nothingWaits')}</p>}
      <ul className="overview-queues">
        {queues.map((queue) => (
          <li key={queue.queue}>
            <Card queue={queue} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Card({ queue: { queue, waiting, isCut, oldestAt, canDecide } }: { queue: Queue }) {
  return (
    <Link href={paths[queue] ?? '/'} className={waiting > 0 ? 'overview-queue overview-queue-waits' : 'overview-queue'}>
      <span>{t(`overview.queue_${queue}`)}</span>
      <span className="figure">{isCut ? `${formatCount(waiting)}+` : formatCount(waiting)}</span>
      {oldestAt !== null && (
        <span className="hint">
          {t('overview.oldest')} <Age at={oldestAt} />
        </span>
      )}
      {!canDecide && <span className="hint">{t('overview.cannotDecide')}</span>}
    </Link>
  )
}
