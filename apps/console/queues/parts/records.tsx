import { useQuery } from '@tanstack/react-query'
import { listOrderPostings } from 'portal-client'
import { client } from '../../../kit/client.ts'
import { formatMoney } from '../../../kit/format.ts'
import { t } from '../../../kit/i18n.ts'
import { Table } from '../../../kit/list.tsx'
import { Section } from '../../../kit/page.tsx'
import { usePermission } from '../../../kit/session.tsx'
import { Badge, Empty, QueryView, type Tone } from '../../../kit/states.tsx'
import { Time } from '../../../kit/time.tsx'
import { Person, WorkspaceLink } from './people.tsx'

interface Status {
  code: string
  label: string
}

export function StatusBadge({ status: { code, label } }: { status: Status }) {
  return <Badge tone={toneOf(code)}>{label}</Badge>
}

export interface OfWorkspace {
  workspaceBizId: string
  workspaceKind: Status
  workspaceStatus?: Status
}

/** The workspace of a record. Marks those without real money, and frozen ones. */
export function MarkedWorkspace({
  record: { workspaceBizId, workspaceKind, workspaceStatus },
}: {
  record: OfWorkspace
}) {
  return (
    <span>
      <WorkspaceLink id={workspaceBizId} />
      {workspaceKind.code === 'SANDBOX' && (
        <>
          {' '}
          <Badge>{workspaceKind.label}</Badge>
        </>
      )}
      {workspaceStatus && workspaceStatus.code !== 'ACTIVE' && (
        <>
          {' '}
          <Badge tone="bad">{workspaceStatus.label}</Badge>
        </>
      )}
    </span>
  )
}

interface Step {
  status: Status
  at: string
  actorBizId: string | null
  reason: string | null
}

/** Every status of an order, and who set it. */
export function History({ steps }: { steps: readonly Step[] }) {
  return (
    <Section title={t('queues.history')}>
      <Table
        label={t('queues.history')}
        items={steps}
        keyOf={({ status, at }) => `${at} ${status.code}`}
        columns={[
          { title: t('queues.status'), cell: ({ status }) => <StatusBadge status={status} /> },
          { title: t('queues.time'), cell: ({ at }) => <Time at={at} /> },
          { title: t('queues.actor'), cell: ({ actorBizId }) => <Person id={actorBizId} /> },
          { title: t('queues.reason'), cell: ({ reason }) => reason ?? '–' },
        ]}
      />
    </Section>
  )
}

/** The postings of an order in the ledger. */
export function Postings({ orderId }: { orderId: string }) {
  const mayRead = usePermission('ledger:read')
  const query = useQuery({
    queryKey: ['postings', orderId],
    queryFn: () => client.call(listOrderPostings, { params: { order_id: orderId } }),
    enabled: mayRead,
  })
  if (!mayRead) return null
  return (
    <Section title={t('queues.postings')}>
      <QueryView query={query}>
        {(postings) =>
          postings.length === 0 ? (
            <Empty title={t('queues.noPostings')} />
          ) : (
            <Table
              label={t('queues.postings')}
              items={postings}
              keyOf={({ bizId }) => bizId}
              columns={[
                { title: t('queues.ledgerAccount'), cell: ({ ledgerAccount }) => <code>{ledgerAccount}</code> },
                { title: t('queues.time'), cell: ({ createdAt }) => <Time at={createdAt} /> },
                {
                  title: t('queues.amount'),
                  align: 'end',
                  cell: ({ amount, currency }) => formatMoney(amount, currency),
                },
              ]}
            />
          )
        }
      </QueryView>
    </Section>
  )
}

const tones: Readonly<Record<string, Tone>> = {
  PENDING_APPROVAL: 'waiting',
  PENDING_PAYMENT: 'waiting',
  PENDING_VERIFICATION: 'waiting',
  PENDING: 'waiting',
  PROOF_SUBMITTED: 'waiting',
  PROCESSING: 'waiting',
  SCHEDULED: 'waiting',
  COMPLETED: 'good',
  ACTIVE: 'good',
  DONE: 'good',
  FAILED: 'bad',
  REJECTED: 'bad',
  RETURNED: 'bad',
  REFUSED: 'bad',
  SUSPENDED: 'bad',
  FROZEN: 'bad',
}

function toneOf(code: string): Tone {
  return tones[code] ?? 'neutral'
}
