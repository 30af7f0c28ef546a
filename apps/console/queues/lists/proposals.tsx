import { listProposals, type Proposal, type ProposalStatusCode } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { t } from '../../../kit/i18n.ts'
import { ListQuery, Table } from '../../../kit/list.tsx'
import { Page } from '../../../kit/page.tsx'
import { ageColumn } from '../parts/columns.tsx'
import { QueueFilters, useQueueFilter } from '../parts/filters.tsx'
import { Person } from '../parts/people.tsx'
import { StatusBadge } from '../parts/records.tsx'

const statuses: readonly ProposalStatusCode[] = ['PENDING', 'SCHEDULED', 'DONE', 'REJECTED', 'CANCELLED', 'EXPIRED']

/** Proposals that two operators decide. */
export default function Proposals() {
  const filter = useQueueFilter(statuses, ['PENDING', 'SCHEDULED'])
  const { status, sortOrder } = filter
  return (
    <Page title={t('queues.proposals')}>
      <QueueFilters statuses={statuses} hasWorkspaces={false} />
      <ListQuery
        queryKey={['proposals', status]}
        read={(before) => client.call(listProposals, { query: { proposalStatus: status, sortOrder, before } })}
        empty={t('queues.noProposals')}
      >
        {(proposals) => <ProposalTable proposals={proposals} />}
      </ListQuery>
    </Page>
  )
}

function ProposalTable({ proposals }: { proposals: readonly Proposal[] }) {
  return (
    <Table
      label={t('queues.proposals')}
      items={proposals}
      keyOf={({ bizId }) => bizId}
      columns={[
        {
          title: t('queues.kind'),
          cell: ({ bizId, proposalKind }) => <Link href={`/queues/proposals/${bizId}`}>{proposalKind.label}</Link>,
        },
        ageColumn,
        { title: t('queues.subject'), cell: ({ subjectEmail }) => subjectEmail },
        { title: t('queues.proposedBy'), cell: ({ proposedBy }) => <Proposer id={proposedBy} /> },
        { title: t('queues.status'), cell: ({ proposalStatus }) => <StatusBadge status={proposalStatus} /> },
      ]}
    />
  )
}

function Proposer({ id }: { id: string | null }) {
  return id === null ? t('queues.provider') : <Person id={id} />
}
