import { confirmProposal, listProposals, type Proposal, rejectProposal } from 'portal-client'
import { client } from '../../../kit/client.ts'
import { Facts } from '../../../kit/facts.tsx'
import { TextAreaField } from '../../../kit/forms.tsx'
import { permissionName, t } from '../../../kit/i18n.ts'
import { Section } from '../../../kit/page.tsx'
import { useParameter } from '../../../kit/pages.tsx'
import { useSession } from '../../../kit/session.tsx'
import { Age, Time } from '../../../kit/time.tsx'
import { type Choice, Decide } from '../parts/decide.tsx'
import { type Objection, useObjections } from '../parts/four-eyes.ts'
import { ItemPage, NextItem } from '../parts/item-page.tsx'
import { Person, WorkspaceLink } from '../parts/people.tsx'
import { StatusBadge } from '../parts/records.tsx'
import { Trail } from '../parts/trail.tsx'
import { ProposedChange, useProposedChange } from './proposed-change.tsx'

/** A proposal, with what exactly it changes. */
export default function ProposalPage() {
  const id = useParameter('id')
  return (
    <ItemPage
      queryKey={['proposal', id]}
      read={() => findProposal(id)}
      titleOf={({ proposalKind, subjectEmail }) => `${proposalKind.label} · ${subjectEmail}`}
      list={{ path: '/queues/proposals', title: 'queues.proposals' }}
      nextOf={({ bizId, createdAt }) => (
        <NextItem
          id={bizId}
          createdAt={createdAt}
          read={async (query) => {
            const { items } = await client.call(listProposals, { query: { ...query, proposalStatus: 'PENDING' } })
            return items.map(({ bizId: next }) => ({ bizId: next, path: `/queues/proposals/${next}` }))
          }}
        />
      )}
    >
      {(proposal) => <Details key={proposal.bizId} proposal={proposal} />}
    </ItemPage>
  )
}

function Details({ proposal }: { proposal: Proposal }) {
  const { workspaceBizId, proposedBy, decidedBy, executesAt } = proposal
  return (
    <div className="queues-item">
      <div className="queues-column">
        <ProposedChange proposal={proposal} />
        <Section title={t('decisions.facts')}>
          <Facts
            facts={[
              [t('queues.kind'), proposal.proposalKind.label],
              [t('queues.status'), <StatusBadge key="status" status={proposal.proposalStatus} />],
              [t('queues.age'), <Age key="age" at={proposal.createdAt} />],
              [t('queues.subject'), <Person key="subject" id={proposal.subjectBizId} />],
              [
                t('queues.workspace'),
                workspaceBizId === null ? '–' : <WorkspaceLink key="workspace" id={workspaceBizId} />,
              ],
              [t('queues.reason'), proposal.reason],
              [
                t('queues.proposedBy'),
                proposedBy === null ? t('queues.provider') : <Person key="proposer" id={proposedBy} />,
              ],
              [t('decisions.decidedBy'), decidedBy === null ? '–' : <Person key="decider" id={decidedBy} />],
              [t('decisions.expiresAt'), <Time key="expiresAt" at={proposal.expiresAt} />],
              [t('decisions.executesAt'), <Time key="executesAt" at={executesAt} />],
            ]}
          />
        </Section>
      </div>
      <div className="queues-column queues-side">
        <Decision proposal={proposal} />
      </div>
      <div className="queues-column queues-records">
        <Trail targetId={proposal.bizId} />
      </div>
    </div>
  )
}

function Decision({ proposal }: { proposal: Proposal }) {
  const { accountId, permissions } = useSession()
  const { bizId, proposalKind, proposalStatus, proposedBy, subjectBizId, workspaceBizId } = proposal
  const permission = proposalKind.code === 'PERMISSIONS' ? 'operator:manage' : 'recovery:manage'
  const duties = useObjections({ permission, creatorId: null, workspaceId: workspaceBizId })
  const lacking = (useProposedChange(proposal)?.added ?? []).filter((code) => !permissions.has(code))
  const isOwn = proposedBy === accountId
  const basic: Objection[] = [
    ...duties,
    ...(subjectBizId === accountId ? [{ text: t('decisions.ownAccount'), isCertain: true }] : []),
  ]
  const params = { proposal_id: bizId }
  const confirm: Choice = {
    id: 'confirm',
    label: t('decisions.confirmProposal'),
    effect: t('decisions.confirmProposalEffect'),
    done: t('decisions.proposalConfirmed'),
    objections: [
      ...basic,
      ...(isOwn ? [{ text: t('decisions.ownProposal'), isCertain: true }] : []),
      ...(lacking.length > 0
        ? [
            {
              text: t('decisions.grantsMore', { permissions: lacking.map(permissionName).join(', ') }),
              isCertain: true,
            },
          ]
        : []),
    ],
    run: () => client.call(confirmProposal, { params }),
  }
  const reject: Choice = {
    id: 'reject',
    label: t(isOwn ? 'decisions.withdrawProposal' : 'decisions.reject'),
    effect: t('decisions.rejectProposalEffect'),
    done: t(isOwn ? 'decisions.proposalWithdrawn' : 'decisions.proposalRejected'),
    tone: 'danger',
    objections: basic,
    fields: <TextAreaField label={t('queues.reason')} name="reason" required />,
    run: (values) => client.call(rejectProposal, { params, body: { reason: values('reason') } }),
  }
  switch (proposalStatus.code) {
    case 'PENDING':
      return <Decide choices={[confirm, reject]} />
    case 'SCHEDULED':
      return <Decide choices={[reject]} />
    default:
      return <Decide choices={[]} />
  }
}

async function findProposal(proposalId: string): Promise<Proposal | null> {
  return (await client.call(listProposals, { query: { proposalId } })).items[0] ?? null
}
