import { useQuery } from '@tanstack/react-query'
import { listOperators, type Proposal } from 'portal-client'
import { client } from '../../../kit/client.ts'
import { permissionName, t } from '../../../kit/i18n.ts'
import { Section } from '../../../kit/page.tsx'
import { usePermission } from '../../../kit/session.tsx'
import { Badge } from '../../../kit/states.tsx'

interface Change {
  added: readonly string[]
  removed: readonly string[]
  kept: readonly string[]
}

/** The difference to the operator's present permissions. Undefined for other proposals, and after the decision. */
export function useProposedChange({ permissionCodes, proposalStatus, subjectBizId, subjectEmail }: Proposal) {
  const mayRead = usePermission('operator:read')
  const isOpen = permissionCodes !== null && proposalStatus.code === 'PENDING'
  const { data } = useQuery({
    queryKey: ['operators', 'of', subjectEmail],
    queryFn: () => client.call(listOperators, { query: { accountEmail: subjectEmail } }),
    enabled: mayRead && isOpen,
  })
  const present = data?.items.find(({ bizId }) => bizId === subjectBizId)?.permissionCodes
  if (!isOpen || present === undefined) return undefined
  const change: Change = {
    added: permissionCodes.filter((code) => !present.includes(code)),
    removed: present.filter((code) => !permissionCodes.includes(code)),
    kept: present.filter((code) => permissionCodes.includes(code)),
  }
  return change
}

/** What exactly a proposal changes. */
export function ProposedChange({ proposal }: { proposal: Proposal }) {
  const change = useProposedChange(proposal)
  const { proposalKind, permissionCodes, subjectEmail } = proposal
  return (
    <Section title={t('decisions.changes')}>
      {proposalKind.code === 'RESTORE_OWNER' && <p>{t('decisions.restoreOwnerEffect', { email: subjectEmail })}</p>}
      {proposalKind.code === 'RESET_FACTOR' && <p>{t('decisions.resetFactorEffect', { email: subjectEmail })}</p>}
      {change && (
        <>
          <Permissions title={t('decisions.added')} codes={change.added} tone="good" />
          <Permissions title={t('decisions.removed')} codes={change.removed} tone="bad" />
          <details>
            <summary>{t('decisions.kept')}</summary>
            <Permissions title={t('decisions.kept')} codes={change.kept} />
          </details>
        </>
      )}
      {!change && permissionCodes !== null && (
        <Permissions title={t('decisions.proposedList')} codes={permissionCodes} />
      )}
    </Section>
  )
}

interface PermissionsProps {
  title: string
  codes: readonly string[]
  tone?: 'good' | 'bad'
}

function Permissions({ title, codes, tone }: PermissionsProps) {
  return (
    <div>
      <h3 className="queues-permissions-title">{title}</h3>
      {codes.length === 0 ? (
        <p className="hint">{t('decisions.none')}</p>
      ) : (
        <ul className="queues-permissions">
          {codes.map((code) => (
            <li key={code}>
              <Badge {...(tone && { tone })}>{permissionName(code)}</Badge>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
