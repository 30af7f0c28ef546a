import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Badge, Empty, Loading } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { StatusBadge } from '../orders/status.tsx'
import { useNotices } from './live.tsx'
import { type FeedEvent, wordsOf } from './words.ts'

/** The last events of the workspace. They are seen once the page has shown them. */
export default function Notifications() {
  const { events } = useNotices()
  return <Page title={t('notifications.title')}>{events === null ? <Loading /> : <List events={events} />}</Page>
}

function List({ events }: { events: readonly FeedEvent[] }) {
  const { seenUntil, markSeen } = useNotices()
  const [newSince] = useState(seenUntil)
  useEffect(() => markSeen())
  if (events.length === 0)
    return (
      <Empty title={t('notifications.empty')}>
        <p>{t('notifications.emptyHint')}</p>
      </Empty>
    )
  return (
    <Table
      label={t('notifications.title')}
      items={events}
      keyOf={({ id }) => id}
      columns={[
        { title: t('notifications.event'), cell: (event) => <Kind event={event} isNew={event.time > newSince} /> },
        { title: t('notifications.object'), cell: (event) => <Name event={event} /> },
        { title: t('orders.status'), cell: (event) => <StatusBadge status={wordsOf(event).state} /> },
        { title: t('orders.amount'), align: 'end', cell: (event) => wordsOf(event).amount ?? t('orders.none') },
        { title: t('notifications.time'), cell: ({ time }) => <Time at={time} /> },
      ]}
    />
  )
}

function Kind({ event, isNew }: { event: FeedEvent; isNew: boolean }) {
  return (
    <span className="notifications-kind">
      {wordsOf(event).kind}
      {isNew && <Badge tone="good">{t('notifications.new')}</Badge>}
    </span>
  )
}

function Name({ event }: { event: FeedEvent }) {
  const { name, href } = wordsOf(event)
  const text = name ?? t('orders.none')
  return href === null ? text : <Link href={href}>{text}</Link>
}
